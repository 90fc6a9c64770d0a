package live

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/held"
	"github.com/clewdbg/clew/unwind"
)

// placesSource calls small, which is inlined, at the second of two places only.
const placesSource = `package main

import "os"

var sink int

func small(n int) { sink += n }

//go:noinline
func never() { small(1) }

//go:noinline
func once() { small(2) }

//go:noinline
func last() { sink++ }

func main() {
	if len(os.Args) > 9 {
		never()
	}
	once()
	last()
}
`

// TestRunToEveryLocation: a name is every place that has it, inlined ones too, and
// of several locations the first that is reached counts.
func TestRunToEveryLocation(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "places")
	if err := os.WriteFile(source, []byte(placesSource), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", program, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, tc := range []struct {
		locations []string
		at        string // the physical function, "" where there is an error
	}{
		{[]string{"main.small"}, "main.once"},
		{[]string{"main.last"}, "main.last"},
		{[]string{"main.last", "main.small", "main.small"}, "main.once"},
		{[]string{"main.last", "main.main"}, "main.main"},
		{[]string{"main.never", "main.last"}, "main.last"},
		{[]string{"main.never"}, ""},
		{[]string{"main.nothing"}, ""},
	} {
		t.Run(strings.Join(tc.locations, " "), func(t *testing.T) {
			s, err := delve.Launch(delve.LaunchConfig{Args: []string{program}, NoStdin: true})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			p := NewProcess(s)
			stop, err := p.RunTo(context.Background(), func(text string) { t.Log(text) }, tc.locations...)
			if tc.at == "" {
				var exit *ExitError
				var unknown *UnknownLocationError
				if !errors.As(err, &exit) && !errors.As(err, &unknown) {
					t.Errorf("%+v, %v", stop, err)
				}
				return
			}
			if err != nil || stop.Reason != held.StopBreakpoint {
				t.Fatalf("%+v, %v", stop, err)
			}
			v, err := p.Read(false)
			if err != nil {
				t.Fatal(err)
			}
			th, err := v.Current()
			if err != nil {
				t.Fatal(err)
			}
			pc, _ := th.Registers.PC(unwind.AMD64)
			f, _ := v.Code().Function(unwind.InstructionAddr(pc).Lookup(unwind.AMD64))
			if f.Name != tc.at {
				t.Errorf("stopped in %s", f.Name)
			}
		})
	}
}
