package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testkit"
)

const strippedCoreSource = `package main

import (
	"sync"
	"time"
)

var mu sync.Mutex

func worker() { mu.Lock() }

func main() {
	mu.Lock()
	for range 7 {
		go worker()
	}
	time.Sleep(200 * time.Millisecond)
	var p *int
	*p = 1
}
`

// TestCoreOfStrippedProgram: a core file of a program without DWARF and symbols has every
// goroutine, with its state and its creator.
func TestCoreOfStrippedProgram(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": strippedCoreSource, "go.mod": "module stripped\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, flags := range map[string][]string{"static": nil, "PIE": {"-buildmode=pie"}} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			build := exec.Command("go", append(append([]string{"build", "-ldflags=-s -w", "-o", path}, flags...), ".")...)
			build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			core := testkit.Core(t, append(os.Environ(), "GOTRACEBACK=crash"), path)
			waiting, crashed := 0, false
			for _, s := range clew(t, "stack", "--core", core, "--format", "json", path).stacks(t) {
				var names []string
				for i := range s.Frames {
					names = append(names, s.Frames[i].Function)
				}
				all := strings.Join(names, " ")
				if s.Goroutine == 1 {
					crashed = strings.Contains(all, "runtime.sigpanic main.main runtime.main runtime.goexit")
				}
				if !strings.Contains(all, "main.worker") {
					continue
				}
				waiting++
				c := s.State.CreatedBy
				if s.Stop != "end" || s.State.WaitReason != "sync.Mutex.Lock" || c == nil || c.Function != "main.main" || c.Line != 15 || c.Goroutine != 1 {
					t.Errorf("goroutine %d: %s, %+v, %+v", s.Goroutine, s.Stop, s.State, c)
				}
			}
			if waiting != 7 || !crashed {
				t.Errorf("%d goroutines of 7, goroutine 1 found where it crashed: %v", waiting, crashed)
			}
		})
	}
}
