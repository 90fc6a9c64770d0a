package table

import (
	"bufio"
	"debug/macho"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

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

var (
	objdumpEntry = regexp.MustCompile(`^\s+\[\d+\]: function offset=0x([0-9a-f]+), encoding(?:\[\d+\])?=0x([0-9a-f]+)`)
	objdumpIndex = regexp.MustCompile(`^\s+\[\d+\]: function offset=0x([0-9a-f]+), 2nd level page offset=0x([0-9a-f]+)`)
)

// objdump reads the entries that llvm-objdump --macho --unwind-info prints.
func objdump(t testing.TB, path string) (entries []Entry) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var end uint32
	hex := func(s string) uint32 {
		v, err := strconv.ParseUint(s, 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		return uint32(v)
	}
	for s := bufio.NewScanner(f); s.Scan(); {
		if m := objdumpIndex.FindStringSubmatch(s.Text()); m != nil {
			end = hex(m[1])
		}
		if m := objdumpEntry.FindStringSubmatch(s.Text()); m != nil {
			entries = append(entries, Entry{Start: hex(m[1]), Encoding: Encoding(hex(m[2]))})
		}
	}
	for i := range entries {
		entries[i].End = end
		if i+1 < len(entries) {
			entries[i].End = entries[i+1].Start
		}
	}
	return entries
}

// TestObjdump: entry by entry as llvm-objdump has them, and every offset finds
// the entry that it lies in.
func TestObjdump(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.dylib")
	if err != nil || len(paths) != 4 {
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
			want := objdump(t, strings.TrimSuffix(path, ".dylib")+".txt")
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
			for _, at := range []uint32{0, want[0].Start - 1, want[len(want)-1].End, 1<<32 - 1} {
				if e, ok := table.Find(at); ok {
					t.Errorf("at %#x, beyond the table: %x", at, e)
				}
			}
		})
	}
}
