package mutated

import (
	"fmt"
	"strings"
)

// message frames a request of DAP.
func message(seq int, command, arguments string) string {
	body := fmt.Sprintf(`{"seq":%d,"type":"request","command":%q,"arguments":%s}`, seq, command, arguments)
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

// dapSession is a session of DAP, a text for each request. Its second request starts it with the arguments.
func dapSession(request, arguments string) (texts []string) {
	for i, m := range [][2]string{
		{"initialize", `{"adapterID":"go","linesStartAt1":true,"supportsInvalidatedEvent":true}`},
		{request, arguments},
		{"setFunctionBreakpoints", `{"breakpoints":[{"name":"main.main"}]}`},
		{"setBreakpoints", `{"source":{"path":"/x/main.go"},"breakpoints":[{"line":10,"condition":"a == 1"}]}`},
		{"configurationDone", `{}`},
		{"threads", `{}`},
		{"stackTrace", `{"threadId":1,"startFrame":0,"levels":20}`},
		{"scopes", `{"frameId":1000}`},
		{"variables", `{"variablesReference":1001,"start":0,"count":10}`},
		{"evaluate", `{"expression":"clew frame 0","frameId":1000,"context":"repl"}`},
		{"disassemble", `{"memoryReference":"0x401000","instructionOffset":-5,"instructionCount":20}`},
		{"readMemory", `{"memoryReference":"0x401000","offset":0,"count":64}`},
		{"continue", `{"threadId":1}`},
		{"stackTrace", `{"threadId":1,"startFrame":0,"levels":20}`},
		{"scopes", `{"frameId":1000}`},
		{"next", `{"threadId":1,"granularity":"instruction"}`},
		{"stepOut", `{"threadId":1}`},
		{"modules", `{"startModule":0,"moduleCount":10}`},
		{"completions", `{"text":"main.","column":6,"frameId":1000}`},
		{"exceptionInfo", `{"threadId":1}`},
		{"disconnect", `{"terminateDebuggee":true}`},
	} {
		texts = append(texts, message(i+1, m[0], m[1]))
	}
	return texts
}

// launchArguments are those of a launch of the program.
func launchArguments(program, stem string) string {
	return fmt.Sprintf(`{"mode":"exec","program":%q,"args":["plain","int3",%q],"stopOnEntry":true}`, program, stem)
}

// rpcSession is a session of JSON-RPC, a request a line.
const rpcSession = `{"method":"RPCServer.SetApiVersion","params":[{"APIVersion":2}],"id":1}
{"method":"RPCServer.State","params":[{"NonBlocking":true}],"id":2}
{"method":"RPCServer.CreateBreakpoint","params":[{"Breakpoint":{"functionName":"main.main"}}],"id":3}
{"method":"RPCServer.Command","params":[{"name":"continue"}],"id":4}
{"method":"RPCServer.Stacktrace","params":[{"Id":-1,"Depth":50,"Full":true,"Cfg":{"FollowPointers":true,"MaxStringLen":64}}],"id":5}
{"method":"RPCServer.ListGoroutines","params":[{"Start":0,"Count":100}],"id":6}
{"method":"RPCServer.ListThreads","params":[{}],"id":7}
{"method":"RPCServer.Eval","params":[{"Scope":{"GoroutineID":-1,"Frame":0},"Expr":"1+1","Cfg":null}],"id":8}
{"method":"RPCServer.Disassemble","params":[{"Scope":{"GoroutineID":-1},"StartPC":4198400,"EndPC":4198464,"Flavour":1}],"id":9}
{"method":"RPCServer.ExamineMemory","params":[{"Address":4198400,"Length":64}],"id":10}
{"method":"RPCServer.Command","params":[{"name":"next"}],"id":11}
{"method":"RPCServer.Detach","params":[{"Kill":true}],"id":12}
`

// terminalScript is a session in a terminal, of a program that runs or of a core file.
const terminalScript = `continue
stack
stack -full 10
goroutines -t
threads
frame 1
locals
list
disassemble
up
args
funcs inner
sources native
types main
libraries
whatis main.main
step-instruction
next
stepout
exit
`

// config has every key of clew.json.
const config = `{"strategies": ["dwarfcfi", "sframe", "fpwalk", "scan"], "walkTimeout": "2s", "stackTimeout": "15s", "maxMessage": "256MiB",
"plugins": [{"name": "jit", "path": "/bin/true", "sha256": "3a5c", "rank": 1, "args": ["a"], "memoryMiB": 100}],
"debugFolders": ["/usr/lib/debug"], "fileLimits": {"perByte": 32, "least": 67108864, "session": 536870912}}
`

// lines splits a text behind each line break.
func lines(text string) []string { return strings.SplitAfter(text, "\n") }

// messages splits messages of DAP where a header begins.
func messages(text string) (list []string) {
	const header = "Content-Length:"
	for text != "" {
		n := strings.Index(text[1:], header)
		if n < 0 {
			return append(list, text)
		}
		list, text = append(list, text[:n+1]), text[n+1:]
	}
	return list
}
