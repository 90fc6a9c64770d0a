package dap

import (
	"encoding/base64"
	"path/filepath"
	"testing"
)

// TestShown: the attributes of the shown frames, and the console's commands
// that change them.
func TestShown(t *testing.T) {
	exe, source := plain(t)
	at := line(t, source, breakpointText)
	play(t, func(c *client) {
		c.initialize()
		c.ok("launch", object{"mode": "exec", "program": exe, "args": []string{"labels"}, "stackTraceDepth": 2, "showGlobalVariables": true,
			"showRegisters": true, "hideSystemGoroutines": true, "goroutineFilters": "-w user", "showPprofLabels": []string{"color"}, "maxStringLen": 3,
			"maxArrayValues": 2, "showRawStrings": true})
		c.event("initialized")
		c.ok("setBreakpoints", breakpoints(source, at))
		c.ok("configurationDone", nil)
		thread := threadOf(t, c.event("stopped"))
		c.ok("threads", nil)
		frame := c.stack(thread, 0, 0).StackFrames[0].ID
		for _, s := range c.scopes(frame) {
			if s.Name != "Registers" && s.VariablesReference < firstClewID { // whose values are addresses
				c.ok("variables", object{"variablesReference": s.VariablesReference})
			}
		}
		for _, command := range []string{
			"dlv help config", "dlv config -list", "dlv config showPprofLabels", "dlv config hideSystemGoroutines false", "dlv config showRegisters false",
			"dlv config stackTraceDepth 4", "dlv config nonsense", "dlv config goroutineFilters", "dlv config substitutePath /elsewhere " + source,
			"dlv config substitutePath", "dlv sources main.go", "dlv types main", "dlv target list", "dlv x -fmt hex -count 4 &total", "dlv nonsense", "nonsense",
		} {
			c.request("evaluate", object{"expression": command, "frameId": frame, "context": "repl"})
		}
		c.stack(thread, 0, 0) // has paths elsewhere, and 4 frames
		c.ok("threads", nil)
		for _, context := range []string{"watch", "hover", "clipboard", "repl", "variables", "nonsense", ""} {
			c.request("evaluate", object{"expression": "list", "frameId": frame, "context": context})
			c.request("evaluate", object{"expression": "nothing", "frameId": frame, "context": context})
		}
		c.request("setExpression", object{"expression": "total + 1", "value": "7", "frameId": frame})
		c.ok("disconnect", object{"terminateDebuggee": true})
	})
}

// TestBreakpoints: conditions, counts of hits, messages, at lines, functions and
// instructions, and missing places.
func TestBreakpoints(t *testing.T) {
	exe, source := plain(t)
	at := line(t, source, breakpointText)
	inFile := func(list ...object) object {
		return object{"source": object{"path": filepath.Join(source, "main.go")}, "breakpoints": list}
	}
	play(t, func(c *client) {
		c.initialize()
		c.ok("launch", object{"mode": "exec", "program": exe})
		c.event("initialized")
		c.ok("setBreakpoints", inFile(object{"line": at, "logMessage": "i is {i}, {nonsense} and {list[i]}"}, object{"line": at + 2, "condition": "total > 1000"},
			object{"line": 100_000}, object{"line": at}, object{"line": at + 1, "condition": "((", "column": 3}))
		c.ok("setFunctionBreakpoints", object{"breakpoints": []object{
			{"name": "main.step", "hitCondition": "% 2"}, {"name": "main.nothing"}, {"name": "/main.inl/"}, {"name": "main.go:1"}, {"name": "main.sum", "condition": "a == 5"},
		}})
		c.ok("configurationDone", nil)
		thread := threadOf(t, c.event("stopped"))
		c.inspectStop(thread)
		f := c.stack(thread, 1, 1).StackFrames[0]
		c.request("setInstructionBreakpoints", object{"breakpoints": []object{{"instructionReference": f.PC}, {"instructionReference": f.PC, "offset": 1},
			{"instructionReference": "nonsense"}, {"instructionReference": "0x10"}}})
		c.ok("setFunctionBreakpoints", object{"breakpoints": []object{}})
		c.ok("continue", object{"threadId": thread})
		c.inspectStop(threadOf(t, c.event("stopped")))
		c.ok("setInstructionBreakpoints", object{"breakpoints": []object{}})
		c.request("setBreakpoints", object{"source": object{"path": "/nonexistent/x.go"}, "breakpoints": []object{{"line": 1}}})
		c.request("setBreakpoints", object{"source": object{}, "breakpoints": []object{{"line": 1}}})
		c.request("breakpointLocations", object{"source": object{"path": filepath.Join(source, "main.go")}, "line": at})
		c.ok("setExceptionBreakpoints", object{"filters": []string{}})
		c.ok("continue", object{"threadId": thread})
		c.event("terminated")
		c.ok("disconnect", nil)
	})
}

// TestMemory reads, writes and watches memory, and disassembles.
func TestMemory(t *testing.T) {
	exe, source := plain(t)
	changes, reads := line(t, source, "// it changes here"), line(t, source, "// and is read here")
	play(t, func(c *client) {
		c.initialize()
		c.ok("launch", object{"mode": "exec", "program": exe, "args": []string{"memory"}, "outputMode": "remote"})
		c.event("initialized")
		c.ok("setBreakpoints", breakpoints(source, changes, reads))
		c.ok("configurationDone", nil)
		thread := threadOf(t, c.event("stopped"))
		frame := c.stack(thread, 0, 1).StackFrames[0]
		var locals struct {
			Variables []struct{ Name, MemoryReference string }
		}
		decode(t, c.request("variables", object{"variablesReference": c.scopes(frame.ID)[0].VariablesReference}), &locals)
		for _, v := range locals.Variables {
			if v.Name == "i" {
				continue
			}
			if v.MemoryReference == "" {
				t.Fatalf("%s has no memory reference", v.Name)
			}
			for _, part := range []object{{"count": 100}, {"count": 4, "offset": 5}, {"count": 4, "offset": -3}, {"count": 4, "offset": 1000}, {"count": -1}, {"count": 0}} {
				part["memoryReference"] = v.MemoryReference
				c.request("readMemory", part)
			}
			if v.Name == "bytes" {
				c.ok("writeMemory", object{"memoryReference": v.MemoryReference, "data": base64.StdEncoding.EncodeToString([]byte("fewer"))})
				c.ok("evaluate", object{"expression": "string(bytes)", "frameId": frame.ID, "context": "watch"})
			}
			c.request("writeMemory", object{"memoryReference": v.MemoryReference, "data": "?"})
		}
		c.request("readMemory", object{"memoryReference": "nonsense", "count": 1})
		c.request("disassemble", object{"memoryReference": frame.PC, "instructionOffset": -2, "instructionCount": 4, "resolveSymbols": true})
		c.request("disassemble", object{"memoryReference": frame.PC, "instructionOffset": -300, "instructionCount": 2})
		c.request("disassemble", object{"memoryReference": "0x10", "instructionCount": 2})
		c.request("disassemble", object{"memoryReference": "nonsense", "instructionCount": 2})
		info := c.ok("dataBreakpointInfo", object{"name": "main.counter", "frameId": frame.ID})
		c.request("dataBreakpointInfo", object{"name": "nothing", "frameId": frame.ID})
		c.ok("setBreakpoints", breakpoints(source))
		set := c.ok("setDataBreakpoints", object{"breakpoints": []object{{"dataId": info["dataId"], "accessType": "write"}, {"dataId": "nonsense", "accessType": "read"}}})
		if first := set["breakpoints"].([]any)[0].(object); first["verified"] != true {
			t.Errorf("not watched: %v", first)
		}
		c.ok("continue", object{"threadId": thread})
		c.inspectStop(threadOf(t, c.event("stopped")))
		c.ok("setDataBreakpoints", object{"breakpoints": []object{}})
		c.ok("continue", object{"threadId": thread})
		c.event("terminated")
		c.ok("disconnect", nil)
	})
}
