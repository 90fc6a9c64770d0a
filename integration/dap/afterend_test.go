package dap

import (
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestAfterEnd: each request about a program that has ended has an answer, and none is an internal error. Found by
// integration/hostile/mutated: Delve panics where an exception is asked for.
func TestAfterEnd(t *testing.T) {
	testneed.Ptrace(t)
	exe, source := plain(t)
	c := start(t, binary("clew")).dial()
	thread := threadOf(t, c.launch(object{"mode": "exec", "program": exe, "args": []string{"deep", "3"}}))
	frame := c.stack(thread, 0, 10).StackFrames[0].ID
	c.ok("continue", object{"threadId": thread})
	c.event("terminated")
	for _, r := range []struct {
		command   string
		arguments object
	}{
		{"exceptionInfo", object{"threadId": thread}}, {"exceptionInfo", object{"threadId": 12345}}, {"threads", nil}, {"stackTrace", object{"threadId": thread}}, {"stackTrace", object{"threadId": 12345}}, {"scopes", object{"frameId": frame}},
		{"variables", object{"variablesReference": 1001}}, {"evaluate", object{"expression": "1+1", "frameId": frame}}, {"evaluate", object{"expression": "dlv sources", "context": "repl"}},
		{"completions", object{"text": "ma", "column": 3}}, {"disassemble", object{"memoryReference": "0x401000", "instructionCount": 3}},
		{"readMemory", object{"memoryReference": "0x401000", "count": 3}}, {"writeMemory", object{"memoryReference": "0x401000", "data": "AAAA"}},
		{"dataBreakpointInfo", object{"name": "x", "variablesReference": 1001}}, {"setDataBreakpoints", object{"breakpoints": []object{}}},
		{"setVariable", object{"variablesReference": 1001, "name": "x", "value": "1"}}, {"setExpression", object{"expression": "x", "value": "1", "frameId": frame}},
		{"setBreakpoints", object{"source": object{"path": source + "/main.go"}, "breakpoints": []object{{"line": 10}}}},
		{"setFunctionBreakpoints", object{"breakpoints": []object{{"name": "main.main"}}}},
		{"setInstructionBreakpoints", object{"breakpoints": []object{{"instructionReference": "0x401000"}}}},
		{"setExceptionBreakpoints", object{"filters": []string{}}}, {"stepInTargets", object{"frameId": frame}}, {"gotoTargets", object{"source": object{"path": source + "/main.go"}, "line": 10}},
		{"goto", object{"threadId": thread, "targetId": 1}}, {"restartFrame", object{"frameId": frame}}, {"modules", nil}, {"loadedSources", nil},
		{"source", object{"sourceReference": 1}}, {"breakpointLocations", object{"source": object{"path": source + "/main.go"}, "line": 10}},
		{"next", object{"threadId": thread}}, {"stepIn", object{"threadId": thread}}, {"stepOut", object{"threadId": thread}}, {"stepBack", object{"threadId": thread}},
		{"continue", object{"threadId": thread}}, {"reverseContinue", object{"threadId": thread}}, {"pause", object{"threadId": thread}}, {"cancel", object{"requestId": 1}},
		{"clew/stack", object{"threadId": thread}}, {"clew/plugins", object{}}, {"clew/images", object{}},
	} {
		if m := c.request(r.command, r.arguments); strings.Contains(string(m.Bytes()), "Internal Error") {
			t.Errorf("%s %v: %s", r.command, r.arguments, m.Bytes())
		}
	}
	c.disconnect()
}
