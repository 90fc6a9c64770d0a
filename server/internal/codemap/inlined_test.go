package codemap

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/unwind"
)

// words are what a frame is called.
type words struct {
	function string
	line     int
	column   int
	inlined  bool
	delve    int
}

// TestNameNative names a frame of C code that has a function inlined: by the
// resolver, whatever Delve has said of it. Both rows have the trust of the physical
// frame (R1), and Delve's indices where Delve has them.
func TestNameNative(t *testing.T) {
	dir := t.TempDir()
	source, library := filepath.Join(dir, "p.c"), filepath.Join(dir, "p.so")
	text := "volatile int sink;\nstatic inline __attribute__((always_inline)) void inner(int x) {\n\tsink = x;\n}\nint outer(int x) {\n\tinner(x);\n\treturn sink;\n}\n"
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(testneed.CC(t), "-g", "-O2", "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file, err := symbols.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	const base = 0x7f0000000000
	images, err := imagemap.New(imagemap.Word64, "linux", []imagemap.Image{{Base: base, EndOfText: base + 1<<20, Path: library}})
	if err != nil {
		t.Fatal(err)
	}
	arch := map[elf.Machine]unwind.Arch{elf.EM_X86_64: unwind.AMD64, elf.EM_AARCH64: unwind.ARM64}[machine(t, library)]
	m := New(arch, images, func(*imagemap.Image) (*symbols.File, error) { return file, nil })

	pc := inlinedAt(t, file)
	physical := unwind.Frame{PC: unwind.Code(base+pc, unwind.KindInstruction), CFA: 0x1000, Trust: unwind.TrustFramePointer, DelveFrame: -1}
	delves := physical
	delves.Function, delves.File, delves.Line, delves.DelveFrame = "C.outer", source, 99, 5
	inner := physical
	inner.Inlined, inner.Function, inner.File, inner.Line, inner.DelveFrame = true, "C.inner", source, 3, 4
	other := inner
	other.Line, other.DelveFrame = 98, 3
	for name, c := range map[string]struct {
		frames []unwind.Frame
		want   []words
	}{
		"nothing claimed":     {[]unwind.Frame{physical}, []words{{"inner", 3, 7, true, -1}, {"outer", 6, 2, false, -1}}},
		"a line claimed":      {[]unwind.Frame{delves}, []words{{"inner", 3, 7, true, -1}, {"outer", 6, 2, false, 5}}},
		"inlined, too":        {[]unwind.Frame{inner, delves}, []words{{"inner", 3, 7, true, 4}, {"outer", 6, 2, false, 5}}},
		"inlined, not there":  {[]unwind.Frame{other, delves}, []words{{"inner", 3, 7, true, -1}, {"outer", 6, 2, false, 5}}},
		"more than there are": {[]unwind.Frame{other, inner, delves}, []words{{"inner", 3, 7, true, 4}, {"outer", 6, 2, false, 5}}},
	} {
		stack := unwind.Stack{Frames: c.frames}
		m.Name(&stack)
		var got []words
		for _, f := range stack.Frames {
			got = append(got, words{f.Function, f.Line, f.Column, f.Inlined, f.DelveFrame})
			if f.File != source || f.Trust != unwind.TrustFramePointer || f.CFA != 0x1000 || f.Offset != pc {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func machine(t *testing.T, path string) elf.Machine {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return f.Machine
}

// inlinedAt returns an address in outer where inner is inlined.
func inlinedAt(t *testing.T, file *symbols.File) uint64 {
	t.Helper()
	at := file.Find("outer")
	if len(at) != 1 {
		t.Fatalf("outer is at %#x", at)
	}
	b, _ := file.FunctionBounds(at[0])
	for pc := b.Start; pc < b.End; pc++ {
		if len(file.Calls(pc)) == 2 {
			return pc
		}
	}
	t.Fatal("nothing is inlined into outer")
	return 0
}
