package scripts

import (
	"sync"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestBreaks: the program stops at each breakpoint where a reader of the source expects it with clew.
func TestBreaks(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.CC(t)
	testneed.Tool(t, "g++")
	testneed.Ptrace(t)
	folder := t.TempDir()
	p, err := buildProgram(folder, suites["breaks"])
	if err != nil {
		t.Fatal(err)
	}
	list, err := buildDebuggers(folder, "clew")
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	defer wait.Wait()
	slots := make(chan struct{}, 4)
	for i := range breakScripts {
		sc := &breakScripts[i]
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if got, err := list[0].breakAt(p, sc); err != nil || got != sc.want {
				t.Errorf("%s: %q, want %q (%v)", sc.does, got, sc.want, err)
			}
		})
	}
}
