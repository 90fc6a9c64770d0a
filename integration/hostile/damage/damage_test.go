package damage

import (
	"math/rand/v2"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestDamagedTables damages the tables of two programs: no stack is wrong, and some are right
// because the code has refused a table's step. One of the trials with compact encodings turns
// the index of one to that of a function without a frame pointer, which skips a frame.
func TestDamagedTables(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.CC(t)
	testneed.Ptrace(t)
	for _, c := range []struct {
		scene
		seed            uint64
		trials, byModel int
	}{{scenes[0], 7, 100, 10}, {scenes[len(scenes)-1], 1, 50, 2}} {
		t.Run(c.section, func(t *testing.T) {
			res, err := c.measure(c.seed, c.trials, func(line string) { t.Log(line) })
			if err != nil {
				t.Fatal(err)
			}
			if res[wrong] > 0 || res[wrongPrefix] > 0 || res[byModel] < c.byModel || res.trials() != c.trials {
				t.Errorf("%v", res)
			}
		})
	}
}

// TestFields: a field takes any value that fits and leaves its neighbours alone; a wrong
// value is another one.
func TestFields(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, f := range []field{
		{Field: leb(1, 1), scale: 1}, {Field: leb(1, 2), scale: 8, cfa: true}, {Field: plain(1, 2), scale: 1},
		{Field: plain(1, 1), scale: 1, below: 3},
	} {
		data := []byte{0xaa, 0x81, 0x02, 0x55}
		for range 100 {
			was := f.Get(data)
			v := f.wrong(rng, was, []uint64{64, 128})
			if f.Put(data, v); f.Get(data) != v || v == was || data[0] != 0xaa || data[3] != 0x55 || f.below > 0 && v >= uint64(f.below) {
				t.Fatalf("%+v: %d, was %d: % x", f, v, was, data)
			}
		}
	}
}

// TestCallFrames finds the operands of the FDE that describes a place, and of no other.
func TestCallFrames(t *testing.T) {
	section := []byte{
		20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0, // the CIE
		20, 0, 0, 0, 28, 0, 0, 0, 0, 1, 0, 0, 16, 0, 0, 0, 0, 0x41, 0x0e, 16, 0x86, 2, 0x0c, 7, // 0x1120 to 0x1130
		20, 0, 0, 0, 52, 0, 0, 0, 0, 2, 0, 0, 16, 0, 0, 0, 0, 0x41, 0x0e, 16, 0, 0, 0, 0,
		0, 0, 0, 0,
	}
	fields := callFrames(section, 0x1000, []uint64{0x1120})
	var got []string
	for _, f := range fields {
		got = append(got, f.what)
	}
	// The last operand is cut off, as its instruction is.
	want := []string{"advance", "CFA's offset", "place of a register", "register"}
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%q", got)
		}
	}
	if fields[1].Get(section) != 16 || fields[2].Get(section) != 2 {
		t.Errorf("%+v", fields)
	}
}
