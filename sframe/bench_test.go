package sframe_test

import (
	"testing"

	"github.com/clewdbg/clew/internal/unwind/sframetest"
	"github.com/clewdbg/clew/sframe"
	"github.com/clewdbg/clew/unwind"
)

// large is a table of 2000 functions with 12 rows each, as compilers write them.
func large() *sframetest.Builder {
	b := sframetest.For(3, unwind.AMD64, sectionAddr)
	for i := range uint64(2000) {
		b.Add(sframetest.Func{Start: 0x10_0000 + 0x130*i, Size: 0x128, Count: 12, Info: sframetest.Addr2,
			Rows: "0000 03 08 | 0100 05 10 f0 | 0300 05 18 f0 | 0500 05 20 f0 | 0900 05 28 f0 | 0a00 05 30 f0 |" +
				"0e00 05 60 f0 | 0701 05 30 f0 | 0801 05 28 f0 | 0901 05 18 f0 | 0a01 05 10 f0 | 0b01 03 08"})
	}
	return b
}

// TestNoAllocation: lookups do not allocate, and reading all rows does so once.
func TestNoAllocation(t *testing.T) {
	tab := table(t, large())
	if n := testing.AllocsPerRun(10, func() {
		for at := uint64(0x10_0000); at < 0x18_0000; at += 0x77 {
			tab.Lookup(at)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	rows := 0
	if n := testing.AllocsPerRun(3, func() {
		for range tab.AllRows() {
			rows++
		}
	}); n > 1 || rows != 4*12*tab.Len() {
		t.Errorf("%v allocations for %d functions, %d rows", n, tab.Len(), rows)
	}
}

func BenchmarkNew(b *testing.B) {
	data := large().Bytes()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		read(data, sframe.Options{})
	}
}

func BenchmarkLookup(b *testing.B) {
	tab := read(large().Bytes(), sframe.Options{})
	b.ReportAllocs()
	at := uint64(0)
	for b.Loop() {
		at = at*6364136223846793005 + 1442695040888963407 // Knuth's MMIX
		tab.Lookup(0x10_0000 + at>>32%(2000*0x130))
	}
}

func BenchmarkRows(b *testing.B) {
	tab := read(large().Bytes(), sframe.Options{})
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		for range tab.AllRows() {
			rows++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
}
