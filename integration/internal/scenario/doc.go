// Package scenario runs tests that are files: a program, what is done with it, and what must come of it, in one archive
// (txtar) of integration/scenarios. A new scenario is a new file; it needs no Go code.
//
// The archive begins with a script of package testscript (github.com/rogpeppe/go-internal/testscript), which has exec, stdin,
// stdout, stderr, cmp and more. clew is on its PATH, and $ROOT is the folder of its module. Besides it has
//
//	need NAME...           what the machine must have (package testneed): ptrace, linux/amd64, cc, g++, rustc, ...
//	                       $CC, $CXX and $RUSTC are then the compilers
//	exits CODE COMMAND...  exec, for a command that ends with this code
//	costs TIME MIB COMMAND...  exec, for a command that takes no more than this, on this machine
//	refused CODE REGEXP COMMAND...  a command of clew's that says why not in one line, and prints nothing
//	program NAME...        builds programs of integration/dap/testdata; $NAME is the executable, $source the folder of its sources
//	native VARIANT         builds a variant of integration/internal/program: $native, $NATIVE_LIBRARY
//	mark NAME FILE TEXT [N]  sets $NAME to the number of the first line that has a text, or of the Nth line behind it
//	setfrom NAME REGEXP    sets $NAME to what the expression's group matches in the last command's output
//	start COMMAND...       starts a program, which is killed at the end; $pid is its process
//	contains TEXT...       the output of the last command has these texts; after ! it has none of them
//	shows REGEXP...        the same, for regular expressions
//	terminal FILE COMMAND...   plays a file to a terminal, as in: terminal script exec program -- arguments; dlv before FILE: to dlv's
//	serve NAME COMMAND...  starts a headless server or a proxy; $NAME is its address
//	editor FILE NAME       plays an editor's session with that server
//	core NAME COMMAND...   $NAME is the core file of a program that crashes
//	dap FILE               plays an editor's session with `clew dap`
//	both FILE              plays it with `dlv dap` too: both must answer the same
//
// The file of a session has a request a line. $NAME stands for a variable of the script or of the session.
//
//	COMMAND {JSON}         a request, which must succeed; ! before it: it must be refused; ? before it: whatever
//	~ REGEXP               the last answer or event matches; !~: it does not
//	save NAME PATH         sets $NAME to a part of it, as breakpoints.0.id or variables.name=x.value
//	capture NAME REGEXP    sets $NAME to what the expression's group has matched in it
//	launch PROGRAM ARG...  initialize, launch, configurationDone, to the first stop
//	begin PROGRAM ARG...   the same, before configurationDone; {JSON} as the last argument: more for the launch request
//	break FILE LINE...     breakpoints at these lines
//	stopped [REASON]       waits for a stop; $thread is its thread, $frame its first frame, $pc where that is
//	stack START LEVELS     other frames of the thread
//	frame NUMBER|FUNCTION  $frame is this one
//	functions REGEXP       those of the last stack, in a row
//	thread FUNCTION        $thread is the one that stands in this function, $frame where it does
//	own                    $frame is clew's own: Delve does not have it
//	vars NAME=VALUE...     variables in the frame's scopes; $ref is the last scope
//	children NAME NAME=VALUE...  the same below a variable, whose reference is $ref then
//	console LINE           a line for the debug console
//	scope NAME             $ref is this scope of the frame
//	event NAME             waits for an event
//	output REGEXP          waits for the program's output
//	EXPRESSION => VALUE    the value in $frame; EXPRESSION =~ REGEXP
//	write EXPRESSION => VALUE   the value is set, and then it is so
//	logged TEXT | TEXT     what breakpoints have logged so far, on $line
//	inspect                all that an editor asks at a stop
//	stacks REGEXP [; N ; REGEXP]   the stack of each thread whose name matches; in N of them the functions, in a row, match
//	each WORD... : LINE ; LINE   the lines, with each word as $it
//	end                    disconnect, with the end of program and server
package scenario
