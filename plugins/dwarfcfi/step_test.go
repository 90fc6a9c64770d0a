package dwarfcfi

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/cfi/cfitest"
	"github.com/clewdbg/clew/internal/unwind/tablewalk/steptest"
)

// The truth test (package steptest): programs are single-stepped from their first
// instruction, the C library and, where it is dynamic, the loader included.

// stepAll steps through programs of several builds.
func stepAll(t *testing.T, machine steptest.Machine, enough int, builds []string, start func(t *testing.T, tr *steptest.Tracer, exe string), options ...string) {
	var all steptest.Tally
	for _, build := range builds {
		args := strings.Fields(build)
		if _, err := exec.LookPath(args[0]); err != nil {
			t.Logf("NOT BUILT (no such compiler): %s", build)
			continue
		}
		t.Run(strings.ReplaceAll(build, " ", ""), func(t *testing.T) {
			exe := filepath.Join(t.TempDir(), "step")
			cfitest.BuildC(t, exe, append(args, options...)...)
			tr := steptest.Tracer{Shadow: steptest.Shadow{T: t, Machine: machine, Status: 42}, Unwinder: New()}
			start(t, &tr, exe)
			got := tr.Run()
			t.Log(got)
			if got.Wrong != 0 {
				t.Errorf("%d wrong steps", got.Wrong)
			}
			if got.Doubtful > 0 {
				t.Errorf("%d steps wrong with a note, where tables are exact, or the code is at hand", got.Doubtful)
			}
			if got.Right < enough || got.Walks < enough/100 {
				t.Errorf("only %d instructions and %d stacks compared", got.Right, got.Walks)
			}
			if covered := got.Right + got.Wrong + got.Refused; got.Refused*1000 > covered {
				t.Errorf("%d of %d instructions with an FDE refused", got.Refused, covered)
			}
			all.Add(&got)
		})
	}
	t.Logf("all builds: %v", all)
}
