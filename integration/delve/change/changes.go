package change

import "github.com/clewdbg/clew/server/delve/internals"

// Who notices a change.
const (
	byCompiler = "the compiler"
	byCheck    = "internals.Check" // at the start of every session
)

// edit changes text in the files of a folder.
type edit struct {
	module   string // "" for Delve
	folder   string // of the module; or a file
	from, to string // a regular expression, and what it is replaced by
}

// change is one that a release of Delve might bring.
type change struct {
	entry string
	what  string
	edits []edit
	by    string // byCompiler, byCheck, or the name of a test
	in    string // the test's package
}

const (
	goDAP  = "github.com/google/go-dap"
	inProc = "pkg/proc"
	delve  = "./server/delve"
)

var changes = []change{
	{internals.EntryProcess, "the field's name", []edit{
		{"", inProc, `\b(t|it|Selected)\.proc\b`, "$1.held"}, {"", inProc + "/target.go", `(?m)^\tproc   ProcessInternal`, "\theld   ProcessInternal"},
		{"", inProc + "/target.go", `\bproc:  `, "held:  "},
	}, byCheck, ""},
	{internals.EntryProcess, "the field's type", []edit{
		{"", inProc + "/target.go", `(?m)^\tproc   ProcessInternal`, "\tproc   interface{ ProcessInternal }"},
	}, byCheck, ""},
	{internals.EntryProcessGroup, "the field's name", []edit{{"", inProc, `\bprocgrp( ProcessGroup\n|:  |\.)`, "runs$1"}, {"", inProc + "/native", `\bruns\.`, "procgrp."}}, byCheck, ""},
	{internals.EntryProcessGroup, "a method's name", []edit{{"", inProc, `\bContinueOnce\(`, "RunOnce("}}, byCompiler, ""},
	{internals.EntryProcessGroup, "another method", []edit{
		{"", inProc + "/interface.go", `(?m)^\tContinueOnce\(`, "\tResumeOnce() error\n\tContinueOnce("},
		{"", inProc + "/native/proc.go", `(?m)^func \(procgrp \*processGroup\) ContinueOnce`, "func (procgrp *processGroup) ResumeOnce() error { return nil }\n\n$0"},
		{"", inProc + "/core/core.go", `(?m)^func \(\*process\) ContinueOnce`, "func (*process) ResumeOnce() error { return nil }\n\n$0"},
		{"", inProc + "/gdbserial/gdbserver.go", `(?m)^func \(p \*gdbProcess\) ContinueOnce`, "func (p *gdbProcess) ResumeOnce() error { return nil }\n\n$0"},
	}, byCheck, ""},
	{internals.EntryProcessGroup, "another way to run", []edit{
		{"", inProc + "/target_group.go", `(?m)^\tprocgrp ProcessGroup`, "$0\n\tdirect ProcessGroup"},
		{"", inProc + "/target_group.go", `procgrp:            procgrp,`, "$0\n\t\tdirect: procgrp,"},
		{"", inProc + "/target_exec.go", `grp\.procgrp\.ContinueOnce`, "grp.direct.ContinueOnce"},
	}, "TestArm", delve + "/steps"},
	{internals.EntryDownloads, "a field's name", []edit{{"", inProc, `\bcancelDownloadsMu\b`, "downloadsLock"}}, byCheck, ""},
	{internals.EntryDownloads, "a field's type", []edit{{"", inProc + "/bininfo.go", `cancelDownloads   func\(\)`, "cancelDownloads context.CancelFunc"}}, byCheck, ""},
	{internals.EntryDAPDebugger, "the field's name", []edit{{"", "service/dap", `(\bs\.)debugger\b|(?m)(^\t+)debugger( \*debugger\.Debugger$|:)`, "${1}${2}process$3"}}, byCheck, ""},
	{internals.EntryTargetLock, "a field's name", []edit{{"", "service/debugger", `\btargetMutex\b`, "targetLock"}}, byCheck, ""},
	{internals.EntryGoroutines, "a field's name", []edit{{"", inProc + "/goroutine_cache.go", `\ballglenAddr\b`, "countAddr"}}, byCheck, ""},
	{internals.EntryClient, "the field's name", []edit{{"", "service/rpc2/client.go", `\bc\.client\b`, "c.conn"}, {"", "service/rpc2/client.go", `\bclient( \*rpc\.Client\n|: client)`, "conn$1"}}, byCheck, ""},
	{internals.EntryTerminalCommands, "the field's name", []edit{
		{"", "pkg/terminal", `\b(t|term)\.cmds\b`, "$1.list"}, {"", "pkg/terminal/terminal.go", `(?m)^(\t+)cmds( +\*Commands$|:   cmds,)`, "${1}list$2"},
	}, byCheck, ""},
	{internals.EntryStackMemory, "a field's name", []edit{
		{"", inProc, `\b(g|scope\.g|it\.g)\.variable\b`, "$1.held"}, {"", inProc + "/variables.go", `(?m)^\tvariable \*Variable\n(\n\tUnreadable)`, "\theld *Variable\n$1"},
		{"", inProc + "/variables.go", `variable:   v,`, "held: v,"},
	}, byCheck, ""},
	{internals.EntryStackMemory, "a field's type", []edit{{"", inProc + "/variables.go", `(?m)^(\tmem +)MemoryReadWriter$`, "${1}interface{ MemoryReadWriter }"}}, byCheck, ""},
	{internals.EntryStackCache, "a field's name", []edit{{"", inProc, `\bscache\b`, "stacks"}}, byCheck, ""},
	{internals.EntryStackCache, "the key's order and names", []edit{
		{"", inProc + "/stack.go", `goid     int64\n\tthreadID int\n`, "thread int\n\tgoid int64\n"},
		{"", inProc + "/stack.go", `stackCacheKey\{goid, threadID\}`, "stackCacheKey{threadID, goid}"},
	}, byCheck, ""},
	{internals.EntryStackCache, "where it looks", []edit{{"", inProc + "/stack.go", `return cache\.m\[stackCacheKey\{goid, threadID\}\]`, "return cache.m[stackCacheKey{goid, -threadID - 1}]"}}, "TestInsertFrame", delve + "/reading"},
	{internals.EntryStackHigh, "the field's name", []edit{{"", inProc, `\bstackHi\b`, "stackEnd"}}, byCheck, ""},
	{internals.EntryDAPFrames, "the order of fields", []edit{
		{goDAP, "schematypes.go", `(type StackFrame struct \{\n)(\tId .*\n)(\tName .*\n)`, "$1$3$2"},
	}, byCheck, ""},
	{internals.EntryDAPFrames, "the form of an address", []edit{
		{"", "service/dap/server.go", `InstructionPointerReference: fmt\.Sprintf\("%#x", loc\.PC\)`, `InstructionPointerReference: fmt.Sprintf("%x", loc.PC)`},
	}, "TestDelveWritesFrames", delve},
	{internals.EntryDAPResponse, "the order of fields", []edit{
		{goDAP, "schematypes.go", `(type ProtocolMessage struct \{\n)(\tSeq .*\n)(\tType .*\n)`, "$1$3$2"},
	}, byCheck, ""},
	{internals.EntryRegisterName, "a name", []edit{{"", inProc + "/linutil/regs_amd64_arch.go", `"Rbx"`, `"BaseX"`}}, byCheck, ""},
	{internals.EntryLaunchLog, "the text", []edit{{"", "service/debugger/debugger.go", `"launching process with args: %v"`, `"starting %v"`}}, "TestAnnounced", delve},
	{internals.EntryAttachLog, "the text before it attaches", []edit{{"", "service/debugger/debugger.go", `"attaching to pid %d"`, `"attaching to %d"`}}, "TestAttachNative", delve + "/interpose"},
	{internals.EntryAttachLog, "the text between executable and libraries", []edit{{"", inProc + "/target_group.go", `"Adding target %d %q"`, `"Target %d %q"`}}, "TestAttachNative", delve + "/interpose"},
	{internals.EntryHardcodedID, "the number", []edit{{"", inProc + "/breakpoints.go", `hardcodedBreakpointID = -3`, "hardcodedBreakpointID = -7"}}, "TestHardcodedID", delve + "/interpose"},
	{internals.EntryStepCondition, "the goroutine's text", []edit{{"", inProc + "/target_exec.go", `x == "runtime\.curg\.goid"`, `x == "runtime.g.goid"`}}, "TestStepCondition", delve + "/steps"},
	{internals.EntryStepCondition, "the thread's text", []edit{{"", inProc + "/target_exec.go", `x == "runtime\.threadid"`, `x == "runtime.tid"`}}, "TestStepCondition", delve + "/steps"},
	{internals.EntryDAPDummy, "the name", []edit{{"", "service/dap/server.go", `"Dummy"`, `"None"`}}, "TestDummyThread", delve},
	{internals.EntryDAPRunning, "the text", []edit{{"", "service/dap/server.go", `"debuggee is running"`, `"the program runs"`}}, "TestRunningText", delve},
	{internals.EntryValueText, "a pointer's form", []edit{{"", "service/api/prettyprint.go", `fmt\.Fprint\(buf, "\*"\)`, `fmt.Fprint(buf, "&")`}}, "TestValueText", delve},
	{internals.EntryDAPLine, "the names", []edit{{"", "service/dap/server.go", `"sourceBp Path=%q "`, `"source breakpoint in %q "`}}, "TestSourceBreakpoint", delve},
	{internals.EntryDAPLine, "a function's", []edit{{"", "service/dap/server.go", `"functionBreakpoint"`, `"function"`}}, "TestSourceBreakpoint", delve},
	{internals.EntryValueText, "a data ID's form", []edit{{"", "service/dap/server.go", `"\*\(\*\[%d\]byte\)\(%#x\)"`, `"%d@%#x"`}}, "TestValueText", delve},
	{internals.EntryConsole, "the word before commands", []edit{{"", "service/dap/server.go", `\^\\s\*dlv`, `^\s*delve`}}, "TestConsole", delve},
	{internals.EntryConsole, "the word before calls", []edit{{"", "service/dap/server.go", `\^\\s\*call`, `^\s*run`}}, "TestConsole", delve},
	{internals.EntryConsole, "the name of the depth", []edit{{"", "service/dap/server.go", `cfgName:"stackTraceDepth"`, `cfgName:"depth"`}}, "TestConsole", delve},
	{internals.EntryConsole, "the name of the rules for paths", []edit{
		{"", "service/dap/server.go", `cfgName:"substitutePath"`, `cfgName:"paths"`}, {"", "service/dap/config.go", `cfgname == "substitutePath"`, `cfgname == "paths"`},
	}, "TestConsole", delve},
	{internals.EntryConsole, "the order of a rule's paths", []edit{
		{"", "service/dap/config.go", `(ClientToServer, \[2\]string)\{argv\[0\], argv\[1\]\}`, "$1{argv[1], argv[0]}"},
		{"", "service/dap/config.go", `(ServerToClient, \[2\]string)\{argv\[1\], argv\[0\]\}`, "$1{argv[0], argv[1]}"},
	}, "TestConsole", delve},
	{internals.EntryCommands, "a command's name", []edit{{"", "cmd/dlv/cmds/commands.go", `"exec <path/to/binary>"`, `"run <path/to/binary>"`}}, "TestTakeOver", "./server/terminal"},
	{internals.EntryCommands, "a flag's name", []edit{{"", "cmd/dlv/cmds/commands.go", `"waitfor-interval"`, `"waitfor-every"`}}, "TestTakeOver", "./server/terminal"},
	{internals.EntryLibraryList, "what says that there is none", []edit{{"", inProc + "/linutil/dynamic.go", `bi\.ElfDynamicSection\.Addr == 0 \{\n\t\t// no dynamic`, "bi.ElfDynamicSection.Size == 0 {\n\t\t// no dynamic"}}, byCheck, ""},
	{internals.EntryTracer, "a channel's name", []edit{{"", inProc + "/native", `\bptraceDoneChan\b`, "done"}}, "TestTracer", delve + "/interpose"},
	{internals.EntryFrameOpcodes, "the table's name", []edit{{"", "pkg/dwarf/frame", `\bfnlookup\b`, "executed"}}, byCheck, ""},
}
