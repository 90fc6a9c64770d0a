package live

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/held"
	"github.com/clewdbg/clew/unwind"
)

// generatesSource makes executable memory and a perf map for it, then stops; then
// renames the code and stops again.
const generatesSource = `package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

func main() {
	code, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_EXEC, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	path := fmt.Sprintf("/tmp/perf-%d.map", os.Getpid())
	defer os.Remove(path)
	for _, name := range []string{"first", "second name"} {
		line := fmt.Sprintf("%x 10 %s\n", uintptr(unsafe.Pointer(&code[0])), name)
		if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
			panic(err)
		}
		runtime.Breakpoint()
	}
}
`

// TestGenerated: a process's perf map names its generated code, as it is at the stop.
func TestGenerated(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "generates")
	if err := os.WriteFile(source, []byte(generatesSource), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s, err := delve.Launch(delve.LaunchConfig{Args: []string{program}, NoStdin: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	perfMap := fmt.Sprintf("/tmp/perf-%d.map", s.Pid())
	defer os.Remove(perfMap)
	p := NewProcess(s)
	for _, want := range []string{"first", "second name"} {
		if stop, err := p.RunTo(context.Background(), nil); err != nil || stop.Reason != held.StopHardcoded {
			t.Fatalf("%+v, %v", stop, err)
		}
		text, err := os.ReadFile(perfMap)
		if err != nil {
			t.Fatal(err)
		}
		var addr uint64
		if _, err := fmt.Sscanf(string(text), "%x", &addr); err != nil {
			t.Fatal(err)
		}
		v, err := p.Read(false)
		if err != nil {
			t.Fatal(err)
		}
		stack := unwind.Stack{Frames: []unwind.Frame{{PC: unwind.Code(addr+4, unwind.KindReturn)}}}
		v.Code().Name(&stack)
		if f := stack.Frames[0]; f.Function != want || len(v.Input.Notes) > 0 {
			t.Errorf("%#x is %q, want %q; notes %q", addr, f.Function, want, v.Input.Notes)
		}
	}
}
