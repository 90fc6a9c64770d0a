package jit

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

var amd64 = Layout{Order: binary.LittleEndian, WordSize: 8}

// descriptor returns memory with a descriptor at 0x100 and entries at next, in order.
func descriptor(l Layout, next ...uint64) []byte {
	memory := make([]byte, 0x2000)
	put := func(at int, v uint64) {
		if l.WordSize == 8 {
			l.Order.PutUint64(memory[at:], v)
		} else {
			l.Order.PutUint32(memory[at:], uint32(v))
		}
	}
	l.Order.PutUint32(memory[0x100:], 1)
	put(0x108+l.WordSize, next[0])
	for i, at := range next[:len(next)-1] {
		put(int(at), next[i+1])
		put(int(at)+2*l.WordSize, 0x1000+at)
		size := 3 * l.WordSize
		if l.WordSize == 4 && !l.Packed {
			size = 16
		}
		l.Order.PutUint64(memory[int(at)+size:], 0x10+at)
	}
	return memory
}

func TestDescriptor(t *testing.T) {
	for _, l := range []Layout{amd64, {binary.BigEndian, 8, false}, {binary.LittleEndian, 4, true}, {binary.LittleEndian, 4, false}} {
		got, err := ReadDescriptor(bytes.NewReader(descriptor(l, 0x200, 0x280, 0x240, 0)), 0x100, l)
		want := []Registered{{0x1200, 0x210}, {0x1280, 0x290}, {0x1240, 0x250}}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%+v: %x, %v", l, got, err)
		}
	}
	if got, err := ReadDescriptor(bytes.NewReader(descriptor(amd64, 0x200, 0x280, 0x200)), 0x100, amd64); err == nil || len(got) != 2 {
		t.Errorf("a cycle: %x, %v", got, err)
	}
	if got, err := ReadDescriptor(bytes.NewReader(descriptor(amd64, 0x200, 1<<63)), 0x100, amd64); err == nil || len(got) != 1 {
		t.Errorf("a pointer to nowhere: %x, %v", got, err)
	}
	removing := descriptor(amd64, 0x200, 0x280, 0x240, 0)
	removing[0x104], removing[0x108] = unregister, 0x80
	removing[0x109] = 2
	if got, err := ReadDescriptor(bytes.NewReader(removing), 0x100, amd64); err != nil || len(got) != 2 || got[1].Addr != 0x1240 {
		t.Errorf("an entry is being removed: %x, %v", got, err)
	}
	if got, err := ReadDescriptor(bytes.NewReader(make([]byte, 0x200)), 0x100, amd64); err != nil || got != nil {
		t.Errorf("not initialised: %x, %v", got, err)
	}
}

// TestObject reads a compiler's object file whose sections have been given addresses,
// as code generators do, and compares with nm.
func TestObject(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	dir := t.TempDir()
	source, object := filepath.Join(dir, "a.c"), filepath.Join(dir, "a.o")
	if err := os.WriteFile(source, []byte("int f(int x) { return x + 1; }\nstatic __attribute__((noinline,used)) int g(int x) { return f(x) * 2; }\nint d;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) string {
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	run(testneed.Tool(t, "gcc"), "-c", "-O0", "-fasynchronous-unwind-tables", "-o", object, source)
	run(testneed.Tool(t, "objcopy"), "--change-section-address", ".text=0x7000000", "--change-section-address", ".eh_frame=0x8000000", object)
	raw, err := os.ReadFile(object)
	if err != nil {
		t.Fatal(err)
	}
	const at = 0x40
	memory := bytes.NewReader(append(make([]byte, at), raw...))
	file, err := ReadFile(memory, Registered{at, uint64(len(raw))})
	if err != nil || !bytes.Equal(file, raw) {
		t.Fatalf("%d bytes, %v", len(file), err)
	}
	o, err := Load(memory, at, file)
	if err != nil {
		t.Fatal(err)
	}
	linked := filepath.Join(dir, "linked")
	if err := os.WriteFile(linked, o.File, 0o600); err != nil {
		t.Fatal(err)
	}
	named := 0
	after := run(testneed.Tool(t, "readelf"), "-sW", linked)
	for _, line := range strings.Split(run(testneed.Tool(t, "readelf"), "-sW", object), "\n") {
		f := strings.Fields(line)
		if len(f) != 8 || f[3] != "FUNC" {
			continue
		}
		named++
		value, err := hex([]byte(f[1]))
		if err != nil {
			t.Fatal(err)
		}
		if moved := strings.Replace(line, f[1], fmt.Sprintf("%016x", 0x7000000+value), 1); !strings.Contains(after, moved+"\n") {
			t.Errorf("no symbol %q in\n%s", moved, after)
		}
	}
	if named != 2 || len(o.Code) != 1 || o.Code[0].Start != 0x7000000 {
		t.Errorf("%d names, code %x", named, o.Code)
	}
	for n := range raw { // a file that is cut off
		_, _ = Load(memory, at, raw[:n])
	}
}

func FuzzDescriptor(f *testing.F) {
	f.Add(descriptor(amd64, 0x200, 0x280, 0x200), uint64(0x100))
	f.Add(descriptor(amd64, 0x200, 0), uint64(0x100))
	f.Fuzz(func(t *testing.T, memory []byte, addr uint64) {
		found, _ := ReadDescriptor(bytes.NewReader(memory), addr, amd64)
		for _, r := range found[:min(len(found), 4)] {
			if raw, err := ReadFile(bytes.NewReader(memory), r); err == nil {
				_, _ = Load(bytes.NewReader(memory), r.Addr, raw)
			}
		}
	})
}

// FuzzLoad begins with an object file of gcc's whose sections have addresses.
func FuzzLoad(f *testing.F) {
	f.Fuzz(func(t *testing.T, file []byte) {
		before := bytes.Clone(file)
		o, err := Load(bytes.NewReader(make([]byte, 0x100)), 0x40, file)
		if (o == nil) == (err == nil) || !bytes.Equal(file, before) {
			t.Fatalf("%v, %v", o, err)
		}
		if o != nil && len(o.File) != len(file) {
			t.Fatalf("%d bytes of %d", len(o.File), len(file))
		}
	})
}
