package dap

import (
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestStaleIDs: IDs of one stop are refused at the next, and so are IDs that
// is unknown.
func TestStaleIDs(t *testing.T) {
	testneed.Ptrace(t)
	p := native(t, "static-O2-omit")
	c := start(t, binary("clew")).dial()
	c.numbered = true
	stem := t.TempDir() + "/record"
	thread := threadOf(t, c.launch(object{"mode": "exec", "program": p.Path, "args": []string{"thread-calling", "int3", stem}}))
	clewFrame := int64(0)
	for _, f := range c.stack(thread, 0, 50).StackFrames {
		if f.ID >= firstClewID && f.Hint != "label" {
			clewFrame = f.ID
		}
	}
	if clewFrame == 0 {
		t.Fatal("no frame is clew's own")
	}
	scope := c.scopes(clewFrame)[0].VariablesReference
	c.variables(scope)
	refused := func(command string, arguments object) {
		t.Helper()
		m := c.request(command, arguments)
		if m.Success || !strings.Contains(string(m.Bytes()), "not of the present stop") {
			t.Errorf("%s %v: %s", command, arguments, m.Bytes())
		}
	}
	for _, id := range []int64{clewFrame + 1000, firstClewID, 2*firstClewID - 1} {
		refused("scopes", object{"frameId": id})
		refused("variables", object{"variablesReference": id + 5000})
		refused("evaluate", object{"expression": "1", "frameId": id})
	}
	for _, m := range []string{"setVariable", "dataBreakpointInfo"} {
		if r := c.request(m, object{"variablesReference": scope, "name": "rip", "value": "0"}); r.Success {
			t.Errorf("%s of a recovered register: %s", m, r.Bytes())
		}
	}
	c.ok("next", object{"threadId": thread, "granularity": "instruction"})
	c.event("stopped")
	refused("scopes", object{"frameId": clewFrame})
	refused("variables", object{"variablesReference": scope})
	if m := c.request("stackTrace", object{"threadId": firstClewID + 4_000_000}); m.Success {
		t.Errorf("a thread that is not there has a stack: %s", m.Bytes())
	}
	if m := c.request("next", object{"threadId": firstClewID + 4_000_000}); m.Success {
		t.Errorf("a thread that is not there steps: %s", m.Bytes())
	}
	c.disconnect()
}
