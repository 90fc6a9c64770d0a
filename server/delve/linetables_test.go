package delve

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/line"
)

// lineSections are those of a C library of a version of DWARF.
func lineSections(t *testing.T, flags ...string) (data, names []byte) {
	t.Helper()
	f, err := elf.Open(buildLibrary(t, "f.c", function, append(flags, "-fPIC")...))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err = f.Section(".debug_line").Data()
	if err != nil {
		t.Fatal(err)
	}
	if s := f.Section(".debug_line_str"); s != nil {
		if names, err = s.Data(); err != nil {
			t.Fatal(err)
		}
	}
	return data, names
}

// TestCheckLines: no line table is refused that a compiler has written, and none passes that makes Delve panic.
func TestCheckLines(t *testing.T) {
	for _, version := range []string{"-gdwarf-2", "-gdwarf-3", "-gdwarf-4", "-gdwarf-5"} {
		data, names := lineSections(t, version)
		pass := func(data, names []byte) bool {
			left := 1 << 30
			h := lineHeaders{data: data, strings: names, order: binary.LittleEndian, left: &left}
			for len(h.data) > 0 {
				if !h.unit() {
					return false
				}
			}
			return true
		}
		if !pass(data, names) {
			t.Fatalf("%s is refused", version)
		}
		rng, refused, panics := rand.New(rand.NewPCG(1, 1)), 0, 0
		for range 20000 {
			damaged := bytes.Clone(data)
			for range 1 + rng.IntN(3) {
				damaged[rng.IntN(len(damaged))] = byte(rng.Uint32())
			}
			switch {
			case pass(damaged, names):
				if parse(damaged, names) > 0 {
					t.Fatalf("%s: Delve panics for % x", version, damaged)
				}
			case pass(damaged, nil): // a name's offset is wrong
				panics += parse(damaged, names)
				fallthrough
			default: // a count may be wrong, for which Delve would take gigabytes
				refused++
			}
		}
		for n := range data { // cut off, with its length as it would be
			cut := bytes.Clone(data[:n])
			if n >= 10 {
				binary.LittleEndian.PutUint32(cut, uint32(n-4))
			}
			if pass(cut, names) && n > 0 && parse(cut, names) > 0 {
				t.Fatalf("%s: Delve panics for the first %d bytes", version, n)
			}
		}
		if refused == 0 || version == "-gdwarf-5" && panics == 0 {
			t.Errorf("%s: %d refused, for %d of which Delve panics", version, refused, panics)
		}
	}
}

// parse has Delve read the first unit, and returns 1 if it panics.
func parse(data, names []byte) (panics int) {
	defer func() {
		if recover() != nil {
			panics = 1
		}
	}()
	line.Parse("", bytes.NewBuffer(data), names, nil, 0, false, 8)
	return 0
}
