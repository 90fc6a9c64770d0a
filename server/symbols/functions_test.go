package symbols

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

var boundsSymbols = []testSymbol{
	{"$x", 0x1000, 0, elf.STT_NOTYPE, elf.STB_LOCAL},
	{"copy", 0x1000, 0x40, elf.STT_FUNC, elf.STB_LOCAL},
	{"copy_alias", 0x1000, 0, elf.STT_NOTYPE, elf.STB_GLOBAL},
	{"loop", 0x1020, 0, elf.STT_NOTYPE, elf.STB_GLOBAL}, // a label
	{"$d", 0x1030, 0, elf.STT_NOTYPE, elf.STB_LOCAL},
	{"outer", 0x1080, 0x80, elf.STT_FUNC, elf.STB_GLOBAL},
	{"part", 0x1090, 0x10, elf.STT_FUNC, elf.STB_LOCAL}, // nested
	{"assembly", 0x1100, 0, elf.STT_NOTYPE, elf.STB_GLOBAL},
	{"data", 0x1110, 8, elf.STT_OBJECT, elf.STB_GLOBAL},
	{"local_label", 0x1120, 0, elf.STT_NOTYPE, elf.STB_LOCAL},
	{"outer.cold", 0x1140, 0x20, elf.STT_FUNC, elf.STB_LOCAL},
	{"_ZN3foo3barEi", 0x1160, 0x20, elf.STT_FUNC, elf.STB_GLOBAL},
	{"last", 0x1200, 0, elf.STT_FUNC, elf.STB_GLOBAL},
	{"huge", 0x1300, ^uint64(0), elf.STT_FUNC, elf.STB_GLOBAL}, // its end wraps around
}

func TestFunctionBounds(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		image := testELF(order, boundsSymbols)
		f, err := New(bytes.NewReader(image), int64(len(image)))
		if err != nil {
			t.Fatal(err)
		}
		for vaddr, want := range map[uint64]string{
			0x0fff: "none",
			0x1000: "copy 0x1000-0x1040 true",
			0x1024: "copy 0x1000-0x1040 true", // not the label "loop"
			0x103f: "copy 0x1000-0x1040 true",
			0x1040: "none", // a gap behind a function with a size
			0x1088: "outer 0x1080-0x1100 true",
			0x1090: "part 0x1090-0x10a0 true",
			0x10a0: "outer 0x1080-0x1100 true", // behind the nested one
			0x1124: "assembly 0x1100-0x1140 false",
			0x1144: "outer.cold 0x1140-0x1160 false", // jumped to, not called
			0x1164: "foo::bar(int) 0x1160-0x1180 true",
			0x1204: "last 0x1200-0x1300 false",
			0x13ff: "huge 0x1300-0x1400 false", // up to the section's end
			0x1400: "none",
		} {
			got := "none"
			if b, ok := f.FunctionBounds(vaddr); ok {
				got = fmt.Sprintf("%s %#x-%#x %v", b.Name, b.Start, b.End, b.Exact)
			}
			if got != want {
				t.Errorf("%#x: %s, want %s", vaddr, got, want)
			}
		}
		if b, _ := f.FunctionBounds(0x1144); b.Whole != 0x1080 {
			t.Errorf("outer.cold is a part of the function at %#x", b.Whole)
		}
		if b, _ := f.FunctionBounds(0x1088); b.Whole != 0 {
			t.Errorf("outer is a part of the function at %#x", b.Whole)
		}
		if f.EntryPoint() != testText {
			t.Errorf("entry point %#x", f.EntryPoint())
		}
		if code := f.Code(testText+testTextSize-4, 16); !bytes.Equal(code, []byte{0x1f, 0x20, 0x03, 0xd5}) {
			t.Errorf("code at the end: %x", code)
		}
		if code := f.Code(testText-1, 4); code != nil {
			t.Errorf("code before the segment: %x", code)
		}
	}
}

// Code that the linker drops keeps its lines at address 0, where they would
// cover the real code of a position-independent program.
func TestLinesOfDroppedCode(t *testing.T) {
	cc := testneed.CC(t)
	dir := t.TempDir()
	source := filepath.Join(dir, "p.c")
	text := "volatile int x;\nvoid dropped(void) {\n" + strings.Repeat("\tx++;\n", 2000) + "}\nint main(void) {\n\treturn x;\n}\n"
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "p")
	cmd := exec.Command(cc, "-g", "-O0", "-fPIE", "-pie", "-ffunction-sections", "-Wl,--gc-sections", "-o", program, source)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := Open(program)
	if err != nil {
		t.Fatal(err)
	}
	if at := f.Find("dropped"); len(at) != 0 {
		t.Fatalf("the linker has kept the function at %#x", at)
	}
	main := f.Find("main")
	if len(main) != 1 {
		t.Fatalf("main is at %#x", main)
	}
	b, _ := f.FunctionBounds(main[0])
	for pc := b.Start; pc < b.End; pc++ {
		if c := f.Calls(pc); len(c) != 1 || c[0].Line < 2004 || c[0].Line > 2006 {
			t.Fatalf("main at %#x: %+v, want line 2004 to 2006", pc, c)
		}
	}
}

// TestAliases: every name of a function leads to it, in glibc each system call's.
func TestAliases(t *testing.T) {
	cc := testneed.CC(t)
	dir := t.TempDir()
	source, library := filepath.Join(dir, "l.c"), filepath.Join(dir, "l.so")
	text := `int __strong(void) { return 1; }
int weak(void) __attribute__((weak, alias("__strong")));
int other(void) __attribute__((alias("__strong")));
`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := Open(library)
	if err != nil {
		t.Fatal(err)
	}
	at := f.Find("__strong")
	if len(at) != 1 {
		t.Fatalf("__strong is at %#x", at)
	}
	for _, name := range []string{"weak", "other"} {
		if got := f.Find(name); !slices.Equal(got, at) {
			t.Errorf("%s is at %#x, want %#x", name, got, at)
		}
	}
	if got := f.Find("none"); got != nil {
		t.Errorf("none is at %#x", got)
	}
}

// Units that break off in an abbreviation code, and whose entries nest deeper than a
// stack would: reading ends, and goes on with what is left.
func TestCorruptUnits(t *testing.T) {
	abbrev := []byte{
		1, 0x11, 1, 0, 0, // code 1: compile unit with children, no attributes
		2, 0x0b, 1, 0, 0, // code 2: block with children
		0,
	}
	unit := func(entries ...byte) []byte {
		u := []byte{0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8} // DWARF 4
		u = append(u, entries...)
		binary.LittleEndian.PutUint32(u, uint32(len(u)-4))
		return u
	}
	for name, info := range map[string][]byte{
		"broken varint": append(unit(1, 0), unit(0x80)...),
		"deep nesting":  append(unit(1, 0), unit(append([]byte{1}, bytes.Repeat([]byte{2}, 16<<20)...)...)...),
	} {
		image := testELF(binary.LittleEndian, nil, testSection{".debug_abbrev", abbrev}, testSection{".debug_info", info})
		f, err := New(bytes.NewReader(image), int64(len(image)))
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan []Call)
		go func() { done <- f.Calls(testText) }()
		select {
		case c := <-done:
			if len(c) != 0 {
				t.Errorf("%s: %+v", name, c)
			}
		case <-time.After(testneed.Patience(10 * time.Second)):
			t.Fatalf("%s: still reading after 10 s of a quiet machine", name)
		}
		if f.dwarf() == nil {
			t.Errorf("%s: the image has no DWARF", name)
		}
	}
}

func FuzzNew(f *testing.F) {
	f.Add(testELF(binary.LittleEndian, boundsSymbols), uint64(0x1010))
	f.Add(testELF(binary.BigEndian, boundsSymbols[:3]), uint64(0x1010))
	source := filepath.Join(f.TempDir(), "p.c")
	if err := os.WriteFile(source, []byte("int f(int x) { return x * 2; }\n"), 0o644); err != nil {
		f.Fatal(err)
	}
	cc := testneed.CC(f)
	for i, args := range [][]string{{"-g"}, {"-g", "-gz=zlib"}, {"-g", "-gdwarf-3"}} {
		out := fmt.Sprintf("%s.%d.so", source, i)
		cmd := exec.Command(cc, append(args, "-shared", "-fPIC", "-nostdlib", "-Wl,-z,noseparate-code", "-o", out, source)...)
		if msg, err := cmd.CombinedOutput(); err != nil {
			f.Fatalf("%v: %s", err, msg)
		}
		data, err := os.ReadFile(out)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, uint64(0x1000))
	}
	f.Fuzz(func(t *testing.T, data []byte, vaddr uint64) {
		file, err := New(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		at := []uint64{vaddr, file.EntryPoint()}
		for _, r := range file.Executable() {
			at = append(at, r.Start, r.End-1)
		}
		for _, vaddr := range at[:min(len(at), 8)] {
			if b, ok := file.FunctionBounds(vaddr); ok && (vaddr < b.Start || vaddr >= b.End) {
				t.Fatalf("%#x is not in %+v", vaddr, b)
			}
			file.Calls(vaddr)
			file.Code(vaddr, 64)
		}
		file.Find("f")
		file.GoTable()
		// The same bytes as memory: where the file lies is where it is loaded.
		if file, _, err := Loaded(bytes.NewReader(data), 0, 0); err == nil {
			file.FunctionBounds(vaddr)
			file.Find("f")
			file.Code(vaddr, 64)
			file.Section("segment:0x6474e550")
			file.Section("segment-before:0x6474e550")
		}
	})
}
