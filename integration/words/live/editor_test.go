//go:build linux

package live

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dapwire/dapwiretest"
)

// inEditor is a row for editors, which get the name of a file that is not found.
func inEditor(r row) row {
	if r.file != "" && !filepath.IsAbs(r.file) {
		r.file = filepath.Base(r.file)
	}
	return r
}

// fromEditor are the rows of stackTrace, without labels.
func fromEditor(t *testing.T, at *target, style string) (rows []row) {
	t.Helper()
	e, server, err := dapwiretest.Start(exec.Command(binary("clew"), "dap", "--listen=127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	e.Patience = patience
	own := map[string]any{"annotate": "off"}
	if style != "" {
		own["names"] = style
	}
	args := map[string]any{"mode": "exec", "program": at.exe, "args": []string{at.stop}, "clew": own}
	if at.sources != "" {
		args["substitutePath"] = []map[string]string{{"from": at.sources, "to": ""}}
	}
	if at.core != "" {
		args = map[string]any{"mode": "core", "program": at.exe, "coreFilePath": at.core, "clew": own}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(e.Ask("initialize", map[string]any{"adapterID": "clew", "pathFormat": "path", "linesStartAt1": true, "columnsStartAt1": true}, nil))
	must(e.Ask("launch", args, nil))
	_, err = e.Event("initialized")
	must(err)
	if at.breakpoint.line > 0 {
		var set dap.SetBreakpointsResponseBody
		must(e.Ask("setBreakpoints", map[string]any{"source": map[string]any{"path": at.breakpoint.file},
			"breakpoints": []map[string]any{{"line": at.breakpoint.line}}}, &set))
		if b := set.Breakpoints; len(b) != 1 || !b[0].Verified || b[0].Source == nil || b[0].Source.Path != at.breakpoint.file {
			t.Errorf("the breakpoint is %+v", b)
		}
	}
	must(e.Ask("configurationDone", nil, nil))
	thread, _, err := e.Stopped()
	must(err)
	if at.goroutine != 0 {
		thread = int(at.goroutine)
	}
	var body dap.StackTraceResponseBody
	must(e.Ask("stackTrace", map[string]any{"threadId": thread, "levels": 300}, &body))
	for _, f := range body.StackFrames {
		r := row{pc: number(t, strings.TrimPrefix(f.InstructionPointerReference, "0x"), 16), name: f.Name}
		if f.Source != nil {
			r.place = place{f.Source.Path, f.Line}
			if r.file == "" && f.Source.PresentationHint == "deemphasize" {
				r.file = f.Source.Name
			}
		}
		rows = append(rows, inEditor(r))
	}
	return rows
}
