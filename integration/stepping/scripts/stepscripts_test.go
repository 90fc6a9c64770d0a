package scripts

import (
	"sync"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestScripts: clew lands where a reader of the source expects, in a script of each kind.
// The command runs all, beside other debuggers.
func TestScripts(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.CC(t)
	testneed.Tool(t, "g++")
	testneed.Ptrace(t)
	for name, of := range suites {
		t.Run(name, func(t *testing.T) { of.try(t) })
	}
}

func (of *suite) try(t *testing.T) {
	folder := t.TempDir()
	p, err := buildProgram(folder, of)
	if err != nil {
		t.Fatal(err)
	}
	list, err := buildDebuggers(folder, "clew")
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	defer wait.Wait()
	tried := 0
	slots := make(chan struct{}, 4)
	for i := range of.scripts {
		sc := &of.scripts[i]
		if !of.short[sc.does] {
			continue
		}
		tried++
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if got, err := list[0].run(p, sc); err != nil || got != sc.want {
				t.Errorf("%s: %s, then %s: at %s, want %s (%v)", sc.does, sc.at, sc.steps, got, sc.want, err)
			}
		})
	}
	if tried != len(of.short) {
		t.Errorf("%d of %d short scripts are there", tried, len(of.short))
	}
}
