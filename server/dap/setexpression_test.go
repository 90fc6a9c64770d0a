package dap

import (
	"strings"
	"testing"

	"github.com/clewdbg/clew/server/dap/debuggee"
)

// TestSetExpression: what an expression's address points to is set, in Delve's frames and in others; Delve's refusals
// are the request's.
func TestSetExpression(t *testing.T) {
	v, inserter, p := newVariables(t)
	set := func(frame string) string {
		return `{"seq":7,"type":"request","command":"setExpression","arguments":{"expression":"a.b","value":"5","frameId":` + frame + `}}`
	}
	read := func(want ...string) {
		t.Helper()
		got, err := p.fromProxy.Read()
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range append(want, `"request_seq":7`, `"command":"setExpression"`) {
			if !strings.Contains(string(got), w) {
				t.Errorf("got  %s\nwant %s", got, w)
			}
		}
	}
	const address = `{"expression":"\u0026(a.b)","frameId":1000,"context":"watch"}`
	p.write(p.client, set("1000"))
	p.answer(p.injected("evaluate", address), "true", `{"result":"*5","variablesReference":1009}`)
	p.answer(p.injected("variables", `{"variablesReference":1009}`), "true", `{"variables":[{"name":"b","value":"4"}]}`)
	p.answer(p.injected("setVariable", `{"variablesReference":1009,"name":"b","value":"5"}`), "true", `{"value":"5","type":"int"}`)
	read(`"success":true`, `"value":"5"`)
	p.write(p.client, set("1000"))
	p.answer(p.injected("evaluate", address), "false", `{"error":{"format":"can not take address"}}`)
	read(`"success":false`, "can not take address")
	if at, _ := v.state.At(); at.Writes != 1 {
		t.Errorf("memory was written %d times", at.Writes)
	}

	p.write(p.client, set("1000"))
	p.answer(p.injected("evaluate", address), "true", `{"result":"nil","variablesReference":0}`)
	read(`"success":false`, errNoAddress.Error())

	own := string(itoa(debuggee.FirstID + 5))
	p.write(p.client, set(own))
	p.answer(p.injected("variables", `{"variablesReference":1005}`), "true", `{"variables":[{"name":"","type":"int"}]}`)
	read(`"result":"inserted"`)
	p.write(p.client, set(own))
	p.answer(p.injected("variables", `{"variablesReference":1005}`), "true", `{"variables":[{"name":"","type":"string"}]}`)
	read(`"success":false`, errNewString.Error())
	inserter.err = errNoMemory
	p.write(p.client, set(own))
	read(`"success":false`, errNoMemory.Error())
}
