package codemap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/unwind"
)

// nameAt is the name that a frame at an address gets.
func nameAt(m *Map, addr uint64) string {
	stack := unwind.Stack{Frames: []unwind.Frame{{PC: unwind.Code(addr, unwind.KindReturn)}}}
	m.Name(&stack)
	return stack.Frames[0].Function
}

// someCode is the executable memory of tests.
var someCode = unwind.NewRangeSet(unwind.Range{Start: 0x1000, End: 0x2000}, unwind.Range{Start: 0x7000000, End: 0x7001000})

// TestPerfMap: this process's own perf map names what lies in no image, anew when
// it has grown.
func TestPerfMap(t *testing.T) {
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	path := fmt.Sprintf("/tmp/perf-%d.map", os.Getpid())
	t.Cleanup(func() { _ = os.Remove(path) })
	var g Generated
	m := None(unwind.AMD64)
	read := func() *Map {
		t.Helper()
		m, err := g.Read(os.Getpid(), nil, someCode, bytes.NewReader(nil), m)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if name := nameAt(read(), 0x1008); name != "" {
		t.Errorf("without a file: %q", name)
	}
	text := ""
	for _, want := range []string{"first", "second"} { // the later line wins
		text += "1000 10 " + want + "\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if name := nameAt(read(), 0x1008); name != want {
			t.Errorf("%q: %q", text, name)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if name := nameAt(read(), 0x1008); name != "" {
		t.Errorf("the file is gone: %q", name)
	}
}

// TestRegistered: a library has the descriptor, its list a compiler's object file
// whose code was given an address.
func TestRegistered(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"lib.c": "struct { int version, action; void *relevant, *first; } __jit_debug_descriptor = {1};\n", "gen.c": "int generated(int x) { return x + 1; }\n"} {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cc := testneed.Tool(t, "gcc")
	for _, args := range [][]string{
		{cc, "-shared", "-fPIC", "-o", at("lib.so"), at("lib.c")},
		{cc, "-c", "-O0", "-o", at("gen.o"), at("gen.c")},
		{testneed.Tool(t, "objcopy"), "--change-section-address", ".text=0x7000000", at("gen.o")},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	library, err := symbols.Open(at("lib.so"))
	if err != nil {
		t.Fatal(err)
	}
	vaddr, ok := library.Data("__jit_debug_descriptor")
	if !ok {
		t.Fatal("the library has no descriptor")
	}
	object, err := os.ReadFile(at("gen.o"))
	if err != nil {
		t.Fatal(err)
	}
	const bias, entry, file = 0x100000, 0x200000, 0x201000
	memory := make([]byte, file+len(object))
	put := binary.LittleEndian.PutUint64
	memory[bias+vaddr] = 1
	put(memory[bias+vaddr+16:], entry)
	put(memory[entry+16:], file)
	put(memory[entry+24:], uint64(len(object)))
	copy(memory[file:], object)

	images, err := imagemap.New(imagemap.Word64, "", []imagemap.Image{{Base: bias, EndOfText: bias + 0x10000, Path: at("lib.so")}})
	if err != nil {
		t.Fatal(err)
	}
	m := New(unwind.AMD64, images, func(*imagemap.Image) (*symbols.File, error) { return library, nil })
	var g Generated
	named, err := g.Read(0, nil, someCode, bytes.NewReader(memory), m)
	if err != nil {
		t.Fatal(err)
	}
	if name := nameAt(named, 0x7000005); name != "generated" {
		t.Errorf("%q", name)
	}
	if name := nameAt(m, 0x7000005); name != "" {
		t.Errorf("the map from before has the name %q", name)
	}
	put(memory[bias+vaddr+16:], 0) // unregistered
	if named, err = g.Read(0, nil, someCode, bytes.NewReader(memory), named); err != nil {
		t.Fatal(err)
	}
	if name := nameAt(named, 0x7000005); name != "" {
		t.Errorf("unregistered: %q", name)
	}
	put(memory[bias+vaddr+16:], 1<<40)
	if _, err = g.Read(0, nil, someCode, bytes.NewReader(memory), m); err == nil {
		t.Error("a list that leads nowhere is no error")
	}
}
