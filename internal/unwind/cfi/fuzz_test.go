package cfi_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/internal/unwind/cfi/cfitest"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// addRealSections adds small real sections for a fuzzer to start from.
func addRealSections(f *testing.F, add func(arch unwind.Arch, s cfi.Section)) {
	paths, err := filepath.Glob("testdata/*.elf")
	if err != nil || len(paths) == 0 {
		f.Fatal("no files in testdata")
	}
	for _, path := range paths {
		file := load(f, path)
		for _, name := range []string{".eh_frame", ".debug_frame"} {
			if s := file.Section(name); len(s.Data) > 0 {
				add(file.Arch, s)
			}
		}
	}
}

// FuzzSection decodes random sections. Whatever they hold, the index is
// consistent, rows cover their FDE, and applying them ends.
func FuzzSection(f *testing.F) {
	addRealSections(f, func(arch unwind.Arch, s cfi.Section) {
		f.Add(s.Data, []byte{}, uint8(s.Kind)<<1|uint8(arch-unwind.AMD64), s.Addr)
	})
	b, offsets := fdes(unwind.Range{Start: code, End: code + 16}, unwind.Range{Start: code + 8, End: code + 40})
	f.Add(b.Bytes(), header(table-0x100, table, [2]uint64{code, table + uint64(offsets[0])}).Data, uint8(4), uint64(table))
	f.Fuzz(func(t *testing.T, data, hdr []byte, flags uint8, addr uint64) {
		if len(data) > 1<<16 {
			return
		}
		arch := []unwind.Arch{unwind.AMD64, unwind.ARM64}[flags&1]
		opts := cfi.Options{Arch: arch, OpenEnded: flags&4 != 0, Header: cfi.Section{Name: "hdr", Addr: addr - 0x100, Data: hdr}}
		if flags&8 != 0 {
			opts.Order = unwind.S390X.ByteOrder()
		}
		s := cfi.Section{Name: "fuzz", Kind: cfi.Kind(flags >> 1 & 1), Addr: addr, Data: data}
		if flags&16 != 0 {
			_, s, _ = cfi.SplitSegment(addr, data, data, arch, 0)
		}
		tbl := cfi.New(s, opts)
		early, found := tbl.Find(code)
		ranges := tbl.Ranges()
		if !slices.Equal(unwind.NewRangeSet(ranges...), ranges) {
			t.Fatalf("ranges %#x", ranges)
		}
		if found && !early.Contains(code) {
			t.Fatalf("FDE of [%#x, %#x) found for %#x", early.Start, early.End, uint64(code))
		}
		for fde := range tbl.All() {
			checkFDE(t, arch, tbl, ranges, &fde)
		}
		if first, n := tbl.Problems(); n < len(first) {
			t.Fatalf("%d problems: %v", n, first)
		}
	})
}

func checkFDE(t *testing.T, arch unwind.Arch, tbl *cfi.Table, ranges unwind.RangeSet, fde *cfi.FDE) {
	if !ranges.Contains(fde.Start) || !ranges.Contains(fde.End-1) {
		t.Fatalf("FDE of [%#x, %#x) is not covered by %#x", fde.Start, fde.End, ranges)
	}
	if other, ok := tbl.Find(fde.Start); !ok || other.Start != fde.Start {
		t.Fatalf("FDE of %#x: found %+v", fde.Start, other)
	}
	next, n := fde.Start, 0
	err := tbl.Rows(fde, func(row *cfi.Row) bool {
		if row.Start != next || row.End <= row.Start {
			t.Fatalf("row for [%#x, %#x), after %#x", row.Start, row.End, next)
		}
		next = row.End
		if n++; n > 20 {
			return false
		}
		_ = row.String()
		checkUnwind(t, arch, row)
		one, err := tbl.Row(fde, row.Start)
		if err != nil || one.String() != row.String() || one.Start != row.Start || one.End != row.End {
			t.Fatalf("row for %#x: %v, %v; in all rows %v", row.Start, one, err, row)
		}
		return true
	})
	if err != nil || n <= 20 && next != fde.End {
		t.Fatalf("rows of [%#x, %#x) end at %#x: %v", fde.Start, fde.End, next, err)
	}
}

// checkUnwind applies a row to a frame: it ends, with one of the errors that it
// may have, or with a PC and an SP.
func checkUnwind(t *testing.T, arch unwind.Arch, row *cfi.Row) {
	var regs unwind.Registers
	for reg := range unwind.Register(80) {
		if reg%7 != 5 {
			regs.Set(reg, stack+uint64(reg)*8)
		}
	}
	data := make([]byte, 512)
	for i := range data {
		data[i] = byte(i)
	}
	before := regs
	var caller rule.Caller
	err := apply(row, &rule.Frame{Registers: &regs, Memory: unwind.Windows{{Addr: stack, Data: data}}, PACMask: 0x7f << 48}, &caller)
	var memory *rule.MissingMemory
	var register *rule.MissingRegister
	var impossible *rule.ImpossibleError
	var broken *cfi.Error
	switch {
	case err == nil:
		if _, ok := caller.Registers.PC(arch); !ok {
			t.Fatalf("no PC by %v", row)
		}
	case errors.As(err, &memory):
		if memory.Range.End <= memory.Range.Start || memory.Range.End-memory.Range.Start > 4096 {
			t.Fatalf("needs %#x", memory.Range)
		}
	case errors.Is(err, rule.ErrOutermost), errors.As(err, &register), errors.As(err, &impossible), errors.As(err, &broken):
	default:
		t.Fatalf("%v", err)
	}
	if regs != before {
		t.Fatal("the frame's registers changed")
	}
}

// FuzzProgram executes random instructions behind a good CIE.
func FuzzProgram(f *testing.F) {
	f.Add([]byte{0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x4f, 0x0b}, false)
	f.Add([]byte{0x0f, 11, 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}, false)
	f.Add([]byte{0x2d, 0x10, 29, 2, 0x8d, 0, 0x16, 19, 4, 0x31, 0x28, 0xfd, 0xff}, true)
	f.Fuzz(func(t *testing.T, program []byte, arm bool) {
		arch := unwind.AMD64
		if arm {
			arch = unwind.ARM64
		}
		tbl := cfi.New(section(arch, program), cfi.Options{Arch: arch})
		for fde := range tbl.All() {
			checkFDE(t, arch, tbl, tbl.Ranges(), &fde)
		}
	})
}

// FuzzExpression evaluates random expressions.
func FuzzExpression(f *testing.F) {
	f.Add([]byte{0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22})
	f.Add([]byte{0x31, 0x12, 0x28, 0xfc, 0xff})
	f.Add([]byte{0x2f, 0xfd, 0xff})
	f.Fuzz(func(t *testing.T, expression []byte) {
		program := cat([]byte{0x0f}, cfitest.ULEB(uint64(len(expression))), expression,
			[]byte{0x10, 6}, cfitest.ULEB(uint64(len(expression))), expression)
		tbl := cfi.New(section(unwind.AMD64, program), cfi.Options{Arch: unwind.AMD64})
		for fde := range tbl.All() {
			checkFDE(t, unwind.AMD64, tbl, tbl.Ranges(), &fde)
		}
	})
}

// BenchmarkIndex builds the index of the C library, rows verified.
func BenchmarkIndex(b *testing.B) {
	file := libc(b)
	n := 0
	for b.Loop() {
		n = file.Table(".eh_frame").Len()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/FDE")
}

// BenchmarkFind finds FDEs all over the C library, in the index and by the
// header's table.
func BenchmarkFind(b *testing.B) {
	file := libc(b)
	tbl := file.Table(".eh_frame")
	var addrs []uint64
	for f := range tbl.All() {
		addrs = append(addrs, f.Start+(f.End-f.Start)/2)
	}
	for i := range addrs { // in no order
		j := i * 7919 % len(addrs)
		addrs[i], addrs[j] = addrs[j], addrs[i]
	}
	for name, tbl := range map[string]*cfi.Table{"index": tbl, "header": file.Table(".eh_frame")} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if _, ok := tbl.Find(addrs[i%len(addrs)]); !ok {
					b.Fatal("not found")
				}
				i++
			}
		})
	}
	b.Run("row", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			at := addrs[i%len(addrs)]
			f, _ := tbl.Find(at)
			if _, err := tbl.Row(&f, at); err != nil {
				b.Fatal(err)
			}
			i++
		}
	})
	b.Run("rule", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			at := addrs[i%len(addrs)]
			f, _ := tbl.Find(at)
			row, err := tbl.Row(&f, at)
			if err != nil {
				b.Fatal(err)
			}
			kept = row.Rule()
			i++
		}
	})
}

var kept rule.Rule

func libc(b *testing.B) *cfitest.File {
	paths, _ := filepath.Glob("/lib/*-linux-gnu/libc.so.6")
	if len(paths) == 0 {
		b.Fatal("no C library to measure with")
	}
	path, err := filepath.EvalSymlinks(paths[0])
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		b.Fatal(err)
	}
	file, err := cfitest.Load(path, 0)
	if err != nil {
		b.Fatal(err)
	}
	return file
}
