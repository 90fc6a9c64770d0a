package dap

import (
	"strings"
	"testing"
)

// TestRestartOfABinary: a program that Delve has not built is started again as it is, whatever the editor sends: nothing,
// its configuration at the wrong level (nvim-dap) or at the right one (dape). Who asks for a build gets Delve's answer.
func TestRestartOfABinary(t *testing.T) {
	const answer = `{"seq":1,"type":"response","request_seq":1,"success":true,"command":"c"}`
	request := func(command, arguments string) string {
		return `{"seq":1,"type":"request","command":"` + command + `"` + arguments + `}`
	}
	for _, c := range []struct{ name, launched, sent, passed string }{
		{"nothing", `{"mode":"exec","program":"p"}`, ``, `,"arguments":{"arguments":{"mode":"exec","program":"p","request":"launch","rebuild":false}}`},
		{"one level", `{"mode":"exec","program":"p"}`, `,"arguments":{"mode":"exec","program":"q"}`,
			`,"arguments":{"arguments":{"mode":"exec","program":"p","request":"launch","rebuild":false}}`},
		{"both levels", `{"mode":"exec","program":"p"}`, `,"arguments":{"arguments":{"program":"p","args":["x"]}}`,
			`,"arguments":{"arguments":{"program":"p","args":["x"],"request":"launch","rebuild":false}}`},
		{"said", `{"mode":"exec","program":"p"}`, `,"arguments":{"arguments":{"program":"p","rebuild":true}}`, `,"arguments":{"arguments":{"program":"p","rebuild":true}}`},
		{"built by Delve", `{"mode":"debug","program":"p"}`, `,"arguments":{"arguments":{"program":"p"}}`, `,"arguments":{"arguments":{"program":"p"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, p := newLauncher(t)
			launch := request("launch", `,"arguments":`+c.launched)
			p.relay(launch, launch, answer)
			if got := p.relay(request("restart", c.sent), request("restart", c.passed), answer); !strings.Contains(got, `"success":true`) {
				t.Error(got)
			}
		})
	}
}
