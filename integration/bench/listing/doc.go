// Package listing measures listings of every goroutine and thread (`clew stack
// --pid` without further flags), beside what programs say of themselves and beside
// other tools:
//
//	go run ./integration/bench listing stripped [-go VERSION,...] [-program NAME,...]
//	go run ./integration/bench listing cost [-n GOROUTINES] [-tools clew,dlv,eu-stack,gdb]
//	go run ./integration/bench listing pause [-case TEXT] [-patience TIME]
//	go run ./integration/bench listing attach [-n ATTACHES] [-rate REQUESTS]
//	go run ./integration/bench listing profile [-seconds N] [-interval TIME] [-parts N]
//	go run ./integration/bench listing beside [-built DIR]
//
// stripped: ten programs, each built with and without `-ldflags "-s -w"` by each
// release of Go. The listing of the stripped one must be that of the other, goroutine by
// goroutine, and what the runtime itself says (runtime.Stack). The go command
// downloads the releases that are not there.
//
// cost: what a listing of 100, 10,000 and 100,000 goroutines takes in time, memory and
// output, in each format, and for how long the process stands still, which it measures
// itself; beside dlv, gdb and eu-stack (Debian: gdb, elfutils). As root, so that the thread
// that looks at the clock comes first.
//
// pause: for how long processes stand still that are hard to look at (a million goroutines, 5,000 threads, a thread that
// cannot be interrupted, threads that come and go, a list of goroutines that lies), by clew, dlv and gdb. It fails if a process
// stands still for more than clew's --max-pause and 100 ms.
//
// attach: the latency of a server's requests while clew, dlv, gdb and eu-stack attach to it
// again and again.
//
// profile: a wall-clock profile beside the program's own count of its time, and beside perf
// if that is there.
//
// beside: a thousand goroutines by clew and by dlv, beside what the runtime says. Each must
// be right by clew. With -built the programs are there already, and clew is $CLEW:
// integration/arm64 runs it so.
//
// Each prints a table of docs/listing.md or docs/production.md.
//
// The exit status is 0 when everything was measured and right, 1 when something is
// not, 2 for wrong usage.
//
// Its tests run a part of it, and programs of their own.
package listing
