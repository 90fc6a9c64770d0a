package terminal

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const strippedSource = `package main

import (
	"sync"
	"time"
)

var mu sync.Mutex

//go:noinline
func deposit(n int) int {
	if n == 0 {
		var p *int
		return *p
	}
	return deposit(n-1) + 1
}

func worker() {
	mu.Lock()
	defer mu.Unlock()
}

func main() {
	mu.Lock()
	for range 5 {
		go worker()
	}
	time.Sleep(200 * time.Millisecond)
	println(deposit(3))
}
`

// TestStrippedGo: a program without DWARF and symbols has breakpoints by function and line, stacks,
// every goroutine with its wait reason, and registers; a fatal signal is a stop; variables say
// why there are none.
func TestStrippedGo(t *testing.T) {
	need(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": strippedSource, "go.mod": "module stripped\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, flags := range map[string][]string{"static": nil, "PIE": {"-buildmode=pie"}} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			if err := run(dir, "go", append(append([]string{"build", "-ldflags=-s -w", "-o", path}, flags...), ".")...); err != nil {
				t.Fatal(err)
			}
			s := session{tool: "clew", args: []string{"exec"}, target: []string{path}, script: []string{
				"break main.deposit", "continue", "stack", "goroutines -t", "regs", "locals", "clearall",
				"break byline main.go:16", "condition -hitcount byline == 2", "continue", "clearall", "break 9999", "continue", "stack",
			}}
			out := s.play(t)
			for _, want := range []string{
				"Breakpoint 1 set at ", "Breakpoint byline set at ", "main.go:16 (hits ", "main.go, binary is stripped",
				"for main.deposit() ", "in main.deposit\n", "in main.main\n", "Rip = 0x",
				"unable to find locals: no debug information present in binary", "[unrecovered-panic] runtime.fatalpanic()", "in runtime.sigpanic\n",
			} {
				if !strings.Contains(out, want) {
					t.Errorf("no %q:\n%s", want, out)
				}
			}
			waits := regexp.MustCompile(`(?m)^  Goroutine \d+ - .* sync\.\(\*Mutex\)\.Lock \(0x[0-9a-f]+\) \[sync\.Mutex\.Lock\]$`)
			if got := len(waits.FindAllString(out, -1)); got != 5 {
				t.Errorf("%d goroutines wait for the mutex, of 5:\n%s", got, out)
			}
			if got := strings.Count(out, "in main.worker\n"); got != 5 {
				t.Errorf("%d stacks go through worker, of 5:\n%s", got, out)
			}
		})
	}
}
