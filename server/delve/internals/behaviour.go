package internals

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/pkg/proc/linutil"
	"github.com/go-delve/delve/service/dap"
)

// Names of the entries that only a live program shows.
const (
	EntryLaunchLog     = "launch-log"
	EntryAttachLog     = "attach-log"
	EntryHardcodedID   = "hardcoded-id"
	EntryStepCondition = "step-condition"
	EntryDAPDummy      = "dap-dummy"
	EntryDAPRunning    = "dap-running"
	EntryValueText     = "value-text"
	EntryConsole       = "console"
	EntryDAPLine       = "dap-line"
	EntryCommands      = "commands"
	EntryLibraryList   = "library-list"
)

var behaviourEntries = []Entry{
	{
		Name: EntryLaunchLog, Where: "service/debugger/debugger.go, New: the line of its log before a program is started",
		Breaks: "a program that an editor launches stays behind, stopped, if clew is killed while Delve starts it",
		Proof:  "DAP.Session, when the program was started: an error where the line did not come",
	},
	{
		Name: EntryAttachLog, Where: "service/debugger/debugger.go, New, and pkg/proc/target_group.go, addTarget: the lines of the log before Delve attaches, and between its reading of the executable and of the libraries",
		Breaks: "Delve reads every native library of a process that it attaches to",
		Proof:  "TestAttachNative",
	},
	{
		Name: EntryHardcodedID, Where: "pkg/proc/breakpoints.go, hardcodedBreakpointID",
		Breaks: "a stop at int3 in unknown code is told as one at a breakpoint of the user's",
		Proof:  "TestHardcodedID",
	},
	{
		Name: EntryStepCondition, Where: "pkg/proc/target_exec.go, onNextGoroutineWalker; pkg/proc/eval.go, runtime.curg and runtime.threadid",
		Breaks: "a step goes on after a breakpoint of the user's was hit in it",
		Proof:  "TestStepCondition",
	},
	{
		Name: EntryDAPDummy, Where: "service/dap/server.go, onThreadsRequest",
		Breaks: "an editor shows a goroutine that does not exist where Delve knows none",
		Proof:  "TestDummyThread",
	},
	{
		Name: EntryDAPRunning, Where: "service/dap/server.go, handleRequest",
		Breaks: "an editor is shown empty scopes while the program runs",
		Proof:  "TestRunningText",
	},
	{
		Name: EntryValueText, Where: "service/api/prettyprint.go, Variable.writeTo; service/dap/server.go, onDataBreakpointInfoRequest",
		Breaks: "an editor opens no memory of variables and pointers",
		Proof:  "TestValueText",
	},
	{
		Name: EntryConsole, Where: "service/dap/server.go, onEvaluateRequest; service/dap/config.go, configureSet",
		Breaks: "an editor's console evaluates Delve's commands in the wrong frame, shows variables from before a call, and paths from before a change of their rules",
		Proof:  "TestConsole",
	},
	{
		Name: EntryDAPLine, Where: "service/dap/server.go, onSetBreakpointsRequest, onSetFunctionBreakpointsRequest, onSetInstructionBreakpointsRequest: the names of breakpoints",
		Breaks: "an editor sets no breakpoints at lines and functions of code without DWARF",
		Proof:  "TestSourceBreakpoint",
	},
	{
		Name: EntryCommands, Where: "cmd/dlv/cmds/commands.go, New: the commands' names and flags",
		Breaks: "a command shows Delve's own stacks, or ignores a flag",
		Proof:  "terminal.TakeOver, at every start of clew",
	},
	{
		Name: EntryLibraryList, Where: "pkg/proc/linutil/dynamic.go, ElfUpdateSharedObjects: nothing is read where BinaryInfo.ElfDynamicSection has no address",
		Breaks: "a library that becomes gigabytes when it is read ends the debugger: Delve reads it before clew can refuse it",
		Proof:  "Check", check: checkLibraryList,
	},
}

// LaunchLog is the format of the line that Delve logs before it starts a program;
// its argument is the command line, a []string.
const LaunchLog = "launching process with args: %v"

// AttachLog is the format of the line before Delve attaches, and TargetLog that of the one when it has read the executable of
// a process, and nothing of its libraries; its first argument is the process's ID.
const (
	AttachLog = "attaching to pid %d"
	TargetLog = "Adding target %d %q"
)

// HardcodedID is the logical ID that Delve has for a breakpoint instruction of the
// program's own. Delve tells such a stop by it.
const HardcodedID = -3

// NoAddress is what a DAP session says of a breakpoint that it finds, and that is written nowhere (service/dap/server.go, updateBreakpointsResponse).
const NoAddress = "unable to set breakpoint"

// SourceBreakpoint is the name of the breakpoint that a DAP session has set at a line of a file.
func SourceBreakpoint(path string, line, column int) string {
	return fmt.Sprintf("sourceBp Path=%q  Line=%d Column=%d", path, line, column)
}

// FunctionBreakpoint is the name of the one at a function.
func FunctionBreakpoint(name string) string { return "functionBreakpoint Name=" + name }

// InstructionBreakpoint is the name of the one at an instruction.
func InstructionBreakpoint(reference string) string { return "instructionBreakpoint PC=" + reference }

// What a DAP session says where Delve knows of no goroutine, and while the program
// runs.
const (
	DummyThread   = "Dummy"
	DummyThreadID = 1
	RunningText   = "debuggee is running"
	RunningID     = dap.DebuggeeIsRunning

	DataBreakpointsText = "Can not set data breakpoints while the process is running"
	DataBreakpointsID   = dap.UnableToSetBreakpoints
)

// Pointer is the beginning of a pointer's text, and DataAddress the end of a variable's data ID: its address.
var (
	Pointer     = regexp.MustCompile(`^\(?\*`)
	DataAddress = regexp.MustCompile(`\)\((0x[0-9a-f]+)\)$`)
)

// What Delve's DAP session takes for a command of its console, and for an expression that
// lets the program run a function, or assigns; all others only read.
var (
	ConsoleCommand = regexp.MustCompile(`^\s*dlv\s+\S+`)
	Call           = regexp.MustCompile(`^\s*call\s+\S+`)
)

// SetPaths and SetDepth are the commands that change what stacks look like, with their arguments.
var (
	SetPaths = regexp.MustCompile(`^\s*dlv\s+config\s+substitutePath(?:\s+(.*))?$`)
	SetDepth = regexp.MustCompile(`^\s*dlv\s+config\s+stackTraceDepth\s+(\d+)\s*$`)
)

// GoroutineCondition and ThreadCondition are the left sides of the conditions that
// Delve puts on its stepping breakpoints, and recognises a step's goroutine or
// thread by.
const (
	GoroutineCondition = "runtime.curg.goid"
	ThreadCondition    = "runtime.threadid"
)

// stop at compile time: these are Delve's own names for its breakpoints.
var _ = [...]string{proc.UnrecoveredPanic, proc.FatalThrow, proc.HardcodedBreakpoint}

// checkLibraryList proves that Delve reads no list of libraries if it does not know where
// the program's .dynamic is.
func checkLibraryList() error {
	bi := proc.NewBinaryInfo("linux", "amd64", false)
	bi.ElfDynamicSection = proc.ElfDynamicSection{Size: 16}
	return linutil.ElfUpdateSharedObjects(hidden{bi: bi})
}

// hidden is a process without memory.
type hidden struct {
	proc.Process
	proc.MemoryReadWriter
	bi *proc.BinaryInfo
}

func (h hidden) BinInfo() *proc.BinaryInfo { return h.bi }

func (h hidden) Memory() proc.MemoryReadWriter { return h }

func (hidden) ReadMemory([]byte, uint64) (int, error) {
	return 0, errors.New("it is read without an address")
}
