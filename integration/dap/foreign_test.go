package dap

import (
	"strings"
	"testing"
)

// foreign returns the thread without a goroutine, of those that the client is told
// of, that stands in a function.
func (c *client) foreign(function string) (thread int64, stack stackBody) {
	c.t.Helper()
	for _, th := range c.ok("threads", nil)["threads"].([]any) {
		id := int64(th.(object)["id"].(float64))
		if id < firstClewID {
			continue
		}
		stack := c.stack(id, 0, 50)
		for _, f := range stack.StackFrames {
			if f.Name == function {
				return id, stack
			}
		}
	}
	c.t.Fatalf("no thread without a goroutine stands in %s", function)
	return 0, stack
}

// TestForeignThreads: threads that C made are listed and named, their frames have
// variables, and requests that take their IDs work or are refused.
func TestForeignThreads(t *testing.T) {
	p := locals(t)
	c := start(t, binary("clew")).dial()
	main := c.launchLocals(p, lineOf(t, p.source, "// stop here"))
	if main >= firstClewID {
		t.Fatalf("a goroutine has the ID %d", main)
	}
	thread, stack := c.foreign("waiter")
	vars, ref := c.locals(stack.named(t, "waiter"))
	c.wantValues(vars, map[string]string{"kept": "31"})
	c.ok("setVariable", object{"variablesReference": ref, "name": "kept", "value": "77"})
	if got := c.ok("evaluate", object{"expression": "kept+1", "frameId": stack.named(t, "waiter").ID})["result"]; got != "78" {
		t.Errorf("kept+1 is %v", got)
	}
	// The selected frame has not changed: an expression without a frame is about it.
	if got := c.ok("evaluate", object{"expression": "seen"})["result"]; got != "71" {
		t.Errorf("seen is %v in the current goroutine", got)
	}
	c.frameRequests(thread, stack.named(t, "waiter"))
	c.frameRequests(main, c.stack(main, 0, 1).StackFrames[0])
	c.refused("exceptionInfo", object{"threadId": thread}, "runs no goroutine")

	// It does not step: Delve steps the current thread only, and this one waits in
	// the kernel. Letting all threads go on is no matter of which.
	c.ok("continue", object{"threadId": thread})
	c.event("stopped")
	c.ok("setBreakpoints", object{"source": object{"path": p.source}, "breakpoints": []object{}})
	c.ok("continue", object{"threadId": thread})
	stopped := c.event("stopped")
	caught := threadOf(t, stopped)
	if caught < firstClewID || caught == thread {
		t.Fatalf("a thread of C's has stopped: %v", stopped)
	}
	listed(t, c, caught)
	listed(t, c, thread)
	inner := c.stack(caught, 0, 50).named(t, "trapper")
	vars, ref = c.locals(inner)
	c.wantValues(vars, map[string]string{"caught": "7"})
	c.ok("setVariable", object{"variablesReference": ref, "name": "caught", "value": "1000"})
	c.refused("exceptionInfo", object{"threadId": caught}, "runs no goroutine")
	c.frameRequests(caught, inner)
	// Another thread's variables do not change which one steps.
	_, stack = c.foreign("waiter")
	vars, _ = c.locals(stack.named(t, "waiter"))
	c.wantValues(vars, map[string]string{"kept": "77"})
	c.ok("stepOut", object{"threadId": caught})
	if id := threadOf(t, c.event("stopped")); id != caught {
		t.Errorf("thread %d has stepped, not %d", id, caught)
	}
	if f := c.stack(caught, 0, 1).StackFrames[0]; !strings.HasSuffix(f.Name, "trapper") {
		t.Errorf("stepped out to %+v", f)
	}
	c.ok("continue", object{"threadId": caught})
	c.output("caught 1008\n")
	c.event("terminated")
	c.disconnect()
}

// frameRequests makes requests that take a frame or thread, and that Delve does
// not offer: they are refused in its words, and the session goes on.
func (c *client) frameRequests(thread int64, f frame) {
	c.t.Helper()
	for command, arguments := range map[string]object{
		"restartFrame":     {"frameId": f.ID},
		"goto":             {"threadId": thread, "targetId": 1},
		"terminateThreads": {"threadIds": []int64{thread}},
	} {
		m := c.request(command, arguments)
		if text := string(m.Bytes()); m.Success || !strings.Contains(text, command) && !strings.Contains(text, "cannot process") {
			c.t.Errorf("%s of frame %s: %s", command, f.Name, text)
		}
	}
	// What a line calls is known where a step can go into it.
	for _, target := range c.ok("stepInTargets", object{"frameId": f.ID})["targets"].([]any) {
		if label, _ := target.(object)["label"].(string); label == "" {
			c.t.Errorf("a call without a name in frame %s", f.Name)
		}
	}
	// Disassembly is by address, and so for any frame.
	lines := c.ok("disassemble", object{"memoryReference": f.PC, "instructionCount": 3})["instructions"].([]any)
	if len(lines) != 3 || lines[0].(object)["address"] != f.PC {
		c.t.Errorf("disassembly of %s at %s: %v", f.Name, f.PC, lines)
	}
}
