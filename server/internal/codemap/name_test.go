//go:build linux && amd64

package codemap

import (
	"os"
	"testing"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/unwind"
)

// TestNameTrampoline: Go's trampoline of signals begins right behind another
// function, whose last byte is what a return address would be looked up at.
func TestNameTrampoline(t *testing.T) {
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	images, err := imagemap.Capture(os.Getpid(), memory)
	if err != nil {
		t.Fatal(err)
	}
	const arch = unwind.AMD64
	files := Files{Arch: arch}
	m := New(arch, images, files.Live(os.Getpid(), memory))
	const name = "runtime.sigreturn__sigaction"
	trampolines := m.Find(name)
	if len(trampolines) == 0 {
		trampolines = m.Find(name + ".abi0")
	}
	if len(trampolines) != 1 {
		t.Fatalf("%s is at %#x", name, trampolines)
	}
	stack := unwind.Stack{Frames: []unwind.Frame{{PC: unwind.Code(trampolines[0], unwind.KindReturn)}}}
	m.Name(&stack)
	if f := stack.Frames[0]; f.Function != name {
		t.Errorf("%v is in %q", f.PC, f.Function)
	}
}
