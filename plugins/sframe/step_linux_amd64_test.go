package sframe

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/singlestep"
	"github.com/clewdbg/clew/internal/unwind/tablewalk/steptest"
	"github.com/clewdbg/clew/unwind"
)

// startNative starts a program under ptrace and lets its loader work.
func startNative(t *testing.T, tr *steptest.Tracer, p *stepProgram) {
	t.Helper()
	process := singlestep.Start(t, p.exe)
	base, err := baseOf(process.PID, p.exe)
	if err == nil {
		err = process.RunTo(base + p.entry)
	}
	if err != nil {
		t.Fatal(err)
	}
	tr.Program = process
	tr.Images = steptest.Live(t, process, func(path string, bias uint64) (unwind.Image, error) {
		if bias == 0 {
			p := stepProgram{exe: p.exe} // tried only: everything here is loaded elsewhere
			return p.load(path, bias)
		}
		return p.load(path, bias)
	})
}

// baseOf returns the address that a file is loaded at.
func baseOf(pid int, path string) (uint64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasSuffix(strings.TrimSpace(line), path) {
			low, _, _ := strings.Cut(line, "-")
			return strconv.ParseUint(low, 16, 64)
		}
	}
	return 0, fmt.Errorf("%s is not mapped", path)
}
