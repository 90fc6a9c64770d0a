package dap

import (
	"strings"
	"testing"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/stop"
)

// sourceTarget has files, by name, with the lines that have code.
type sourceTarget struct {
	fakeTarget
	files []string
}

func (s *sourceTarget) Sources() []string { return s.files }

func (s *sourceTarget) CodeLines(file string, first, last int) (out []int) {
	for _, line := range []int{3, 5, 9} {
		if file == "/src/main.go" && line >= first && line <= last {
			out = append(out, line)
		}
	}
	return out
}

// TestSources: files on a disk, by the client's paths, and their lines with code.
func TestSources(t *testing.T) {
	state, config := new(debuggee.State), debuggee.DefaultConfig()
	config.Learn(`dlv config substitutePath "/home/u" "/src"`)
	target := &sourceTarget{files: []string{"/src/main.go", "cgo-gcc-prolog", "/src/native.c"}}
	stops := stop.New(stop.Options{Now: func() (stop.Moment, error) { return stop.Moment{}, nil }})
	p := newRoutes(t, func(w *wire.Bridge) map[string]handler {
		s := &sources{wire: w, program: &debuggee.Program{Options: debuggee.Options{Wire: w, State: state, Config: &config}, Stops: stops}}
		return map[string]handler{"loadedSources": s.onLoadedSources, "breakpointLocations": s.onBreakpointLocations}
	})
	expect := func(request string, want ...string) {
		t.Helper()
		got := p.ask(request)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("got  %s\nwant %s", got, w)
			}
		}
	}
	const files = `{"seq":1,"type":"request","command":"loadedSources"}`
	const lines = `{"seq":2,"type":"request","command":"breakpointLocations","arguments":{"source":{"path":"/home/u/main.go"},"line":4,"endLine":9}}`
	expect(files, `"success":false`, "running")
	state.Stops()
	expect(lines, `"success":false`, errNoSources.Error())
	stops.Watch(target, nil)
	expect(files, `"sources":[{"name":"main.go","path":"/home/u/main.go"},{"name":"native.c","path":"/home/u/native.c"}]`)
	expect(lines, `"breakpoints":[{"line":5},{"line":9}]`)
	expect(strings.Replace(lines, `,"endLine":9`, "", 1), `"breakpoints":[]`)
	expect(strings.Replace(lines, "/home/u/main.go", "/src/main.go", 1), `"breakpoints":[]`)
}
