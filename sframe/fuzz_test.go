package sframe_test

import (
	"path/filepath"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/sframetest"
	"github.com/clewdbg/clew/sframe"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// seeds are real sections.
func seeds(f *testing.F, add func(section sframe.Section, arch unwind.Arch)) {
	f.Helper()
	paths, err := filepath.Glob("testdata/*.elf.gz")
	if err != nil || len(paths) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, path := range paths {
		section, opts, err := sframetest.Load(path)
		if err != nil {
			f.Fatal(err)
		}
		add(section, opts.Arch)
	}
}

// rowsOf visits at most n rows of each function. Repeated code may be of any
// size: who lists its rows gets as many as it has blocks.
func rowsOf(tab *sframe.Table, n int, visit func(*sframe.Row, sframe.Answer)) {
	for f := range tab.All() {
		i := 0
		for row, answer := range tab.Rows(f) {
			if visit(row, answer); i == n {
				break
			}
			i++
		}
	}
}

// consistent holds what was read of any bytes against itself: rows lie within their
// functions, do not overlap, and are what lookups return; the index takes memory in
// proportion; what is wrong has a name and a place.
func consistent(t *testing.T, tab *sframe.Table, data []byte) {
	t.Helper()
	if tab.Len() > len(data)/16 {
		t.Fatalf("%d functions of %d bytes", tab.Len(), len(data))
	}
	cover := tab.Ranges()
	var end uint64
	rowsOf(tab, 100, func(row *sframe.Row, answer sframe.Answer) {
		if row.Start < end || row.End <= row.Start {
			t.Fatalf("a row is for [%#x, %#x), the one before ends at %#x", row.Start, row.End, end)
		}
		end = row.End
		for _, at := range []uint64{row.Start, row.End - 1} {
			if got, a := tab.Lookup(at); a != answer || got != *row {
				t.Fatalf("lookup of %#x: %v %+v, listed %v %+v", at, a, got, answer, *row)
			}
		}
		if answer == sframe.Hole || !cover.Contains(row.Start) {
			t.Fatalf("%v at %#x, covered %v", answer, row.Start, cover.Contains(row.Start))
		}
		_ = row.String()
	})
	first, n := tab.Problems()
	for _, p := range first {
		if p.Field == "" || p.Reason == "" || p.Offset > uint64(len(data)) {
			t.Fatalf("%d problems, one is %+v", n, p)
		}
	}
}

// FuzzSection reads any bytes as a section.
func FuzzSection(f *testing.F) {
	seeds(f, func(section sframe.Section, arch unwind.Arch) { f.Add(section.Addr, section.Data, uint8(arch), false) })
	f.Fuzz(func(t *testing.T, addr uint64, data []byte, arch uint8, open bool) {
		tab := sframe.New(sframe.Section{Name: ".sframe", Addr: addr, Data: data},
			sframe.Options{Arch: unwind.Arch(arch % 6), OpenEnded: open})
		consistent(t, tab, data)
	})
}

// FuzzUnwind applies a section's rules to any registers and memory.
func FuzzUnwind(f *testing.F) {
	seeds(f, func(section sframe.Section, arch unwind.Arch) {
		f.Add(section.Data, uint64(0x7fff_0000), uint64(0x7fff_0040), []byte("0123456701234567"), true)
	})
	f.Fuzz(func(t *testing.T, data []byte, sp, fp uint64, memory []byte, returned bool) {
		tab := sframe.New(sframe.Section{Name: ".sframe", Addr: 0x40_0000, Data: data}, sframe.Options{})
		kind := unwind.KindInstruction
		if returned {
			kind = unwind.KindReturn
		}
		rowsOf(tab, 8, func(row *sframe.Row, answer sframe.Answer) {
			arch := tab.Headers()[0].Arch
			var regs unwind.Registers
			regs.Set(arch.SP(), sp)
			regs.Set(arch.FP(), fp)
			if !returned {
				regs.Set(arch.LR(), 0x40_1234)
			}
			frame := rule.Frame{Registers: &regs, Kind: kind, Memory: unwind.Windows{{Addr: sp, Data: memory}}, PACMask: 0x7f << 48}
			var caller rule.Caller
			made := row.Rule()
			if err := made.Apply(&frame, &caller); err == nil {
				if _, ok := caller.Registers.PC(arch); !ok || answer == sframe.Outermost || answer == sframe.SignalWithoutRule {
					t.Fatalf("%v: %s leads to %+v", answer, row.String(), caller)
				}
			}
		})
	})
}
