package dwarfline

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestRelocated looks up addresses of object files, whose debugging information has
// yet to be relocated: with one section of code as LLVM does, with several that have got
// addresses as in the program that is linked from them.
func TestRelocated(t *testing.T) {
	for _, c := range []struct{ tool, flags string }{
		{"gcc", "-O2 -gdwarf-5"}, {"gcc", "-O2 -gdwarf-4 -gz=zlib"}, {"clang-19", "-O2 -gdwarf-5"}, {"aarch64-linux-gnu-gcc", "-O2 -gdwarf-5"},
	} {
		t.Run(c.tool+" "+c.flags, func(t *testing.T) {
			t.Parallel()
			tool, flags := testneed.Tool(t, c.tool), strings.Fields(c.flags)
			equalToLLVM(t, testneed.Tool(t, "llvm-symbolizer-19"), build(t, tool, append(flags, "-c", "other.c")...))

			object := build(t, tool, append(flags, "-c", "chain.c")...)
			dir := filepath.Dir(object)
			if err := os.WriteFile(filepath.Join(dir, "other.c"), []byte("int other(int x) { return x; }"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(object, object+".o"); err != nil {
				t.Fatal(err)
			}
			run(t, dir, tool, "prog.o", "other.c", "-o", "linked")
			place(t, object+".o")
			sameAsLinked(t, object+".o", filepath.Join(dir, "linked"))
		})
	}
}

// sameAsLinked compares each function of an object file with the one of the program.
func sameAsLinked(t *testing.T, object, linked string) {
	t.Helper()
	symbols := make(map[string]uint64)
	all, err := elfOf(t, linked).Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		symbols[s.Name] = s.Value
	}
	f := elfOf(t, object)
	if all, err = f.Symbols(); err != nil {
		t.Fatal(err)
	}
	ours, theirs, inlined := openFile(t, object), openFile(t, linked), 0
	for _, s := range all {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC {
			continue
		}
		for i := range s.Size {
			got, _ := ours.Calls(f.Sections[s.Section].Addr + s.Value + i)
			want, err := theirs.Calls(symbols[s.Name] + i)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%s+%#x: %+v, linked %+v, %v", s.Name, i, got, want, err)
			}
			inlined += len(got) - 1
		}
	}
	if inlined == 0 {
		t.Error("no inlined call")
	}
}

// place gives every section of code an address of its own, as JIT compilers do in the headers of
// what they have loaded.
func place(t *testing.T, object string) {
	t.Helper()
	data, err := os.ReadFile(object)
	if err != nil {
		t.Fatal(err)
	}
	headers := binary.LittleEndian.Uint64(data[0x28:])
	for i, s := range elfOf(t, object).Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 {
			binary.LittleEndian.PutUint64(data[headers+uint64(i)*64+0x10:], uint64(i+1)<<20)
		}
	}
	if err := os.WriteFile(object, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestInvalidRelocations damages the table of relocations: the section is not read, and no
// address beyond it is written to.
func TestInvalidRelocations(t *testing.T) {
	object := build(t, testneed.Tool(t, "gcc"), "-O2", "-g", "-c", "chain.c")
	f := elfOf(t, object)
	s := f.Section(".debug_info")
	data, err := f.Section(".rela.debug_info").Data()
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(entry []byte){
		"place":  func(e []byte) { f.ByteOrder.PutUint64(e, s.Size-3) },
		"symbol": func(e []byte) { f.ByteOrder.PutUint32(e[12:], uint32(len(symbols)+1)) },
		"kind":   func(e []byte) { f.ByteOrder.PutUint32(e[8:], 99) },
	} {
		entry := append([]byte(nil), data[:24]...)
		damage(entry)
		r := relocations{f: f, symbols: symbols, data: make([]byte, s.Size)}
		if err := r.apply(entry); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
