//go:build linux && (amd64 || arm64)

package sampled

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/unwind"
)

// TestSampled measures two libraries that every machine has, one with its tables, one
// without.
func TestSampled(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	testneed.Tool(t, "gcc")
	testneed.Tool(t, "objcopy")
	b := builder{dir: t.TempDir()}
	p, err := b.program()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		library string
		strip   bool
		every   int
		least   int // of a hundred stacks, exact
	}{{"c", false, 30, 100}, {"z", true, 200, 95}} {
		t.Run(c.library, func(t *testing.T) {
			l := named(t, c.library)
			driver, err := b.driver(l)
			if err != nil {
				t.Fatal(err)
			}
			folder := ""
			if c.strip {
				if folder, err = b.strip(l); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			s, err := sample(p, driver, folder, options{every: c.every, most: 120, seed: 1, live: 10, often: 20}, &out)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(b.dir, c.library+".jsonl")
			if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			y, err := again(file, nil, "", s.answers)
			if err != nil {
				t.Fatal(err)
			}
			if y.n < 100 || !y.right() || y.of[exact]*100 < y.n*c.least || y.of[falseScan] > 0 {
				t.Errorf("%d stacks: %v", y.n, y.of)
				y.printReasons(5)
			}
			if len(s.answers) < 5 || len(s.places) < 500 {
				t.Errorf("%d stacks of the live process, %d different instructions", len(s.answers), len(s.places))
			}
		})
	}
}

// TestLies: a table that has the CFA at a wrong place makes no frame wrong and no end false, at whatever place, for whatever
// frame of a stack, with the model of the code and without.
func TestLies(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	testneed.Tool(t, "gcc")
	b := builder{dir: t.TempDir()}
	p, err := b.program()
	if err != nil {
		t.Fatal(err)
	}
	driver, err := b.variant(variant{"gcc", "-O2 -fasynchronous-unwind-tables"}, "lies", true)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err = sample(p, driver, "", options{every: 500, most: 6, seed: 1, live: 100, often: 20}, &out); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(b.dir, "lies.jsonl")
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, model := range []bool{true, false} {
		y, err := lies(file, "", 320, 6, model)
		if err != nil {
			t.Fatal(err)
		}
		if y.n < 500 || !y.right() || model && y.of[falseScan] > y.n/100 || y.of[exact]*100 < y.n*80 {
			t.Errorf("with a model %v: %d stacks: %v", model, y.n, y.of)
			y.printReasons(5)
		}
	}
}

func named(t *testing.T, name string) *library {
	t.Helper()
	for i := range libraries {
		if libraries[i].name == name {
			return &libraries[i]
		}
	}
	t.Fatalf("no library %s", name)
	return nil
}

// TestJudge shows that every way to be wrong is noticed.
func TestJudge(t *testing.T) {
	at := func(pc, sp uint64) unwind.Frame {
		f := unwind.Frame{PC: unwind.Code(pc, unwind.KindReturn), Trust: unwind.TrustCFI}
		f.Registers.Set(unwind.AMD64.SP(), sp)
		return f
	}
	program := code{unwind.AMD64, func(unwind.LookupAddr) (fn assembler.Function, ok bool) { return fn, false }}
	want := []frame{{PC: 1, SP: 1}, {PC: 0x20, SP: 0x200}, {PC: 0x10, SP: 0x300}}
	for name, c := range map[string]struct {
		change func(s *unwind.Stack)
		want   class
	}{
		"right":     {func(*unwind.Stack) {}, exact},
		"truncated": {func(s *unwind.Stack) { s.Frames, s.Stop = s.Frames[:2], unwind.Truncated }, truncated},
		"early end": {func(s *unwind.Stack) { s.Frames = s.Frames[:2] }, falseEnd},
		"address":   {func(s *unwind.Stack) { s.Frames[1] = at(0x21, 0x200) }, wrong},
		"SP":        {func(s *unwind.Stack) { s.Frames[2] = at(0x10, 0x308) }, wrong},
		"skipped":   {func(s *unwind.Stack) { s.Frames = append(s.Frames[:1], s.Frames[2]) }, wrong},
		"too many":  {func(s *unwind.Stack) { s.Frames = append(s.Frames, at(0x30, 0x400)) }, wrong},
		"scan":      {func(s *unwind.Stack) { s.Frames[1] = at(9, 0x200); s.Frames[1].Trust = unwind.TrustScan }, falseScan},
	} {
		s := unwind.Stack{Frames: []unwind.Frame{at(1, 1), at(0x20, 0x200), at(0x10, 0x300)}, Stop: unwind.End}
		c.change(&s)
		if got, why := program.judge(&s, want); got != c.want {
			t.Errorf("%s: %d: %s", name, got, why)
		}
	}
}
