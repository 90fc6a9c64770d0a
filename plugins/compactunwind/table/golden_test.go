package table

import (
	"debug/macho"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/plugins/compactunwind/table/objdumptest"
	"github.com/clewdbg/clew/unwind"
)

// library is a Mach-O library's parts that matter here.
type library struct {
	arch unwind.Arch
	info []byte // __unwind_info
	text []byte // __text
	base uint64 // of text, from the Mach-O header
}

func openLibrary(t testing.TB, path string) library {
	t.Helper()
	f, err := macho.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lib := library{arch: map[macho.Cpu]unwind.Arch{macho.CpuAmd64: unwind.AMD64, macho.CpuArm64: unwind.ARM64}[f.Cpu]}
	section := func(name string) []byte {
		s := f.Section(name)
		if s == nil {
			t.Fatalf("%s has no %s", path, name)
		}
		data, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	lib.info, lib.text = section("__unwind_info"), section("__text")
	lib.base = f.Section("__text").Addr - f.Segment("__TEXT").Addr
	return lib
}

func (l *library) code(start uint32) Code {
	return func(offset uint32, n int) []byte {
		at := uint64(start) + uint64(offset) - l.base
		if at > uint64(len(l.text)) {
			return nil
		}
		return l.text[at:min(at+uint64(n), uint64(len(l.text)))]
	}
}

// readDump reads what llvm-objdump prints of a library.
func readDump(t testing.TB, path string) (d objdumptest.Dump, entries []Entry) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if d, err = objdumptest.Read(f); err != nil {
		t.Fatal(err)
	}
	for _, r := range d.Runs {
		entries = append(entries, Entry{Start: r.Start, End: r.End, Encoding: Encoding(r.Encoding)})
	}
	return d, entries
}

// TestObjdump: entry by entry as llvm-objdump has them, and every offset finds
// the entry that it lies in.
func TestObjdump(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.dylib")
	if err != nil || len(paths) != 6 {
		t.Fatalf("%v, %v", paths, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			lib := openLibrary(t, path)
			table, err := Parse(lib.info)
			if err != nil {
				t.Fatal(err)
			}
			if p := table.Problems(); len(p) > 0 {
				t.Errorf("problems: %v", p)
			}
			dump, want := readDump(t, strings.TrimSuffix(path, ".dylib")+".txt")
			got := slices.Collect(table.All())
			if len(want) < 7 || !slices.Equal(got, want) {
				t.Fatalf("got %x\nwant %x", got, want)
			}
			for _, e := range want {
				for at := e.Start; at < e.End; at++ {
					if got, ok := table.Find(at); !ok || got != e {
						t.Fatalf("at %#x: %x, %v; want %x", at, got, ok, e)
					}
				}
				if _, err := e.Encoding.Decode(lib.arch, lib.code(e.Start)); err != nil {
					t.Errorf("at %#x: %v", e.Start, err)
				}
			}
			if !slices.Equal(table.Personalities(), dump.Personalities) {
				t.Errorf("personalities %x, want %x", table.Personalities(), dump.Personalities)
			}
			if cpp := strings.Contains(path, "cpp"); cpp != (len(dump.LSDA) > 0) {
				t.Errorf("%d functions have language-specific data", len(dump.LSDA))
			}
			data := map[uint32]uint32{}
			for _, l := range dump.LSDA {
				data[l.Function] = l.Data
			}
			for _, e := range want {
				l, ok := table.LSDA(e.Start)
				if want, has := data[e.Start]; ok != has || l.Data != want || has && (!e.Encoding.HasLSDA() || e.Encoding.Personality() == 0) {
					t.Errorf("at %#x (%#x): language-specific data at %#x, %v; want %#x, %v", e.Start, uint32(e.Encoding), l.Data, ok, want, has)
				}
			}
			for _, at := range []uint32{0, want[0].Start - 1, want[len(want)-1].End, 1<<32 - 1} {
				if e, ok := table.Find(at); ok {
					t.Errorf("at %#x, beyond the table: %x", at, e)
				}
			}
		})
	}
}
