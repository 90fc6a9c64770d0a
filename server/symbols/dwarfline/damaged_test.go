package dwarfline

import (
	"debug/elf"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestDamagedLines changes bytes of a line table's program. Where that moves rows, a place that differs is noted; where nothing is changed,
// nothing is.
func TestDamagedLines(t *testing.T) {
	for _, compiler := range []string{"g++", "clang-19"} {
		t.Run(compiler, func(t *testing.T) {
			t.Parallel()
			prog := build(t, testneed.Tool(t, compiler), "words.cc", "-O2", "-gdwarf-5", "-lstdc++")
			addrs := sample(t, prog, 400)
			whole := openFile(t, prog)
			want := answers(whole, addrs)
			if p := whole.Problems(); len(p) > 0 {
				t.Fatal(p)
			}
			data, err := os.ReadFile(prog)
			if err != nil {
				t.Fatal(err)
			}
			begin, end := program(t, prog, whole)
			damaged := filepath.Join(t.TempDir(), "damaged")
			random := rand.New(rand.NewPCG(1, 2))
			moved, noted, changed := 0, 0, 0
			for range 150 {
				copied := slices.Clone(data)
				copied[begin+random.Uint64N(end-begin)] = byte(random.Uint32())
				if err := os.WriteFile(damaged, copied, 0o600); err != nil {
					t.Fatal(err)
				}
				table := openFile(t, damaged)
				got := answers(table, addrs)
				wrong := false
				for i := range got {
					for k := range min(len(got[i]), 1) {
						wrong = wrong || got[i][k].Line != 0 && !slices.Equal(got[i], want[i])
					}
				}
				if !wrong {
					continue
				}
				changed++
				var said *LineError
				is := slices.ContainsFunc(table.Problems(), func(err error) bool { return errors.As(err, &said) })
				if !slices.Equal(addressesOf(whole), addressesOf(table)) {
					if moved++; is {
						noted++
					}
				}
			}
			t.Logf("%d changes make a place wrong, %d of them move rows, of which %d are noted", changed, moved, noted)
			if moved < 10 || noted*100 < moved*85 {
				t.Error("too few")
			}
		})
	}
}

// addressesOf lists the addresses of a table's rows.
func addressesOf(t *Table) (all []uint64) {
	for _, lines := range t.lines {
		if lines != nil {
			for _, r := range lines.rows {
				all = append(all, r.addr)
			}
		}
	}
	slices.Sort(all)
	return all
}

// program returns where the program of the longest line table is, in the file.
func program(t *testing.T, name string, table *Table) (begin, end uint64) {
	t.Helper()
	f := elfOf(t, name)
	s := f.Section(".debug_line")
	if s == nil || s.Flags&elf.SHF_COMPRESSED != 0 {
		t.Fatal("no plain .debug_line")
	}
	for off, lines := range table.lines {
		if lines == nil || len(lines.rows) == 0 {
			continue
		}
		data, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		size := uint64(f.ByteOrder.Uint32(data[off:]))
		header := off + 12 + uint64(f.ByteOrder.Uint32(data[off+8:])) // DWARF 5, section 6.2.4
		if low, high := s.Offset+header, s.Offset+off+4+size; high-low > end-begin {
			begin, end = low, high
		}
	}
	if end-begin < 200 {
		t.Fatal("no line table")
	}
	return begin, end
}
