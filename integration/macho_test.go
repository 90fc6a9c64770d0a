package integration

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/unwind"
)

// TestMachO: native code in a Mach-O library, which a loader in the process has
// mapped or read into memory, has the stack that it recorded, on into Go and back,
// in every scenario; compact unwind information found it; and a snapshot yields the
// same stack offline.
func TestMachO(t *testing.T) {
	for i, v := range program.MachOVariants {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			p := build(t, v)
			for k, s := range program.Scenarios {
				if i > 1 && k%3 != i%3 { // of the later variants some will do
					continue
				}
				t.Run(s.Name+"-"+s.Stop, func(t *testing.T) {
					file := filepath.Join(t.TempDir(), "stop.json")
					live := launch(t, p, s.Name, s.Stop, "--format", "snapshot", "-o", file)
					live.outcome = unwindSame(t, file)
					live.check(t, v, s.Groups)
					stack := live.stacks(t)[0]
					if n := leftBy(&stack, unwind.StrategyCompact); n < 2 {
						t.Errorf("%d frames were left by compactunwind", n)
					}
					want := p.Library
					if v.InMemory {
						want = "[libnative.dylib]"
					}
					for _, f := range stack.Frames {
						if strings.Contains(f.Image, "dylib") && (f.Function == "" || f.Image != want) {
							t.Errorf("%v is %q in %s", f.PC, f.Function, f.Image)
						}
					}
				})
			}
		})
	}
}

// TestMachONeeded: without the strategy it is the code itself that shows where the callers
// are, so that the tables are what the test above is about.
func TestMachONeeded(t *testing.T) {
	v := program.MachOVariants[0]
	stop := launch(t, build(t, v), "plain", "int3", "--format", "json", "--strategies", strings.Join([]string{unwind.StrategyDWARF, unwind.StrategySFrame}, ","))
	v.Undescribed = true
	stop.check(t, v, program.Scenarios[0].Groups)
	stop.want(t, done)
	if stack := &stop.stacks(t)[0]; leftBy(stack, unwind.StrategyCompact) > 0 || leftBy(stack, unwind.StrategyCode) == 0 {
		t.Error(show(stack))
	}
}

// TestMachOCore: the same from core files. An image in memory is in the core file
// as a whole; of a mapped file the core file has the written pages.
func TestMachOCore(t *testing.T) {
	for _, v := range program.MachOVariants[:2] {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			p := build(t, v)
			s := program.Scenarios[2]
			core, stem := dump(t, p, s.Name)
			stopped{clew(t, "stack", "--core", core, "--goroutine", "current", "--format", "json", p.Path), stem}.check(t, v, s.Groups)
			if !v.InMemory {
				stopped{clew(t, "stack", "--core", withoutCode(t, core), "--goroutine", "current", "--format", "json", p.Path), stem}.check(t, v, s.Groups)
			}
		})
	}
}
