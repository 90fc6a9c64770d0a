package unwind_test

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	. "github.com/clewdbg/clew/unwind"
	"pgregory.net/rapid"
)

func TestArchNamesRoundTrip(t *testing.T) {
	for _, arch := range arches {
		got, err := ParseArch(arch.String())
		if err != nil || got != arch {
			t.Errorf("ParseArch(%q) = %v, %v", arch.String(), got, err)
		}
		if size := arch.PointerSize(); size != 4 && size != 8 {
			t.Errorf("%v: pointer size %d", arch, size)
		}
	}
	for _, bad := range []string{"", "unknown", "AMD64", "x86_64", "arch(7)"} {
		if got, err := ParseArch(bad); err == nil {
			t.Errorf("ParseArch(%q) = %v", bad, got)
		}
	}
	if Arch(200).String() != "arch(200)" {
		t.Errorf("Arch(200) = %s", Arch(200))
	}
	if S390X.ByteOrder() != binary.BigEndian || ARM64.ByteOrder() != binary.LittleEndian {
		t.Error("byte order: only s390x is big-endian by default")
	}
}

func TestTrustOrder(t *testing.T) {
	levels := []Trust{TrustNone, TrustScan, TrustFramePointer, TrustCFI, TrustContext} // R1
	if !slices.IsSorted(levels) {
		t.Error("trust levels are not in R1's order")
	}
	for _, l := range levels {
		if got, err := ParseTrust(l.String()); err != nil || got != l {
			t.Errorf("ParseTrust(%q) = %v, %v", l.String(), got, err)
		}
	}
	if _, err := ParseTrust("trust(9)"); err == nil || Trust(9).String() != "trust(9)" {
		t.Error("an unknown trust is read back")
	}
}

func TestSegmentKinds(t *testing.T) {
	for _, k := range []SegmentKind{SegmentThread, SegmentGoroutine, SegmentG0, SegmentSignal} {
		if got, err := ParseSegmentKind(k.String()); err != nil || got != k {
			t.Errorf("ParseSegmentKind(%q) = %v, %v", k.String(), got, err)
		}
	}
	if _, err := ParseSegmentKind("heap"); err == nil {
		t.Error("a heap is a stack segment")
	}
	// An empty stack's SP points just past its memory.
	s := Segment{Low: 0x1000, High: 0x2000}
	for addr, want := range map[uint64]bool{0xfff: false, 0x1000: true, 0x1fff: true, 0x2000: true, 0x2001: false} {
		if got := s.Contains(addr); got != want {
			t.Errorf("Contains(%#x) = %v", addr, got)
		}
	}
}

func TestStopNames(t *testing.T) {
	if End == Truncated || End.String() != "end" || Truncated.String() != "truncated" {
		t.Error("end and truncation are different values with names of their own (R8)")
	}
	var s Stack
	if s.Stop != Truncated {
		t.Error("a stack without an end has a proper end")
	}
	seen := map[string]bool{}
	for _, s := range []WalkStop{StopLimit, StopEnd, StopMemory, StopNoRule, StopYield, StopBroken} {
		if seen[s.String()] || s.String() == "unknown" {
			t.Errorf("stop %d has no name of its own: %s", s, s)
		}
		seen[s.String()] = true
	}
}

// smallRange draws ranges near each other, some empty, some inverted.
func smallRange(t *rapid.T) Range {
	base := rapid.SampledFrom([]uint64{0, math.MaxUint64 - 64}).Draw(t, "base")
	return Range{
		Start: base + rapid.Uint64Range(0, 64).Draw(t, "start"),
		End:   base + rapid.Uint64Range(0, 64).Draw(t, "end"),
	}
}

func TestRangeSetProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(rapid.Custom(smallRange), 0, 8).Draw(t, "a")
		b := rapid.SliceOfN(rapid.Custom(smallRange), 0, 8).Draw(t, "b")
		givenA := slices.Clone(a)
		setA, setB := NewRangeSet(a...), NewRangeSet(b...)
		union := setA.Union(setB)
		if !slices.Equal(a, givenA) {
			t.Fatal("NewRangeSet changed its arguments")
		}
		in := func(rs []Range, addr uint64) bool {
			return slices.ContainsFunc(rs, func(r Range) bool { return r.Contains(addr) })
		}
		var size uint64
		for off := range uint64(65) {
			for _, addr := range []uint64{off, math.MaxUint64 - 64 + off} {
				if setA.Contains(addr) != in(a, addr) {
					t.Fatalf("%v of %v: Contains(%#x) = %v", setA, a, addr, setA.Contains(addr))
				}
				if union.Contains(addr) != (in(a, addr) || in(b, addr)) {
					t.Fatalf("union %v: Contains(%#x) = %v", union, addr, union.Contains(addr))
				}
				if r, ok := setA.Find(addr); ok && !r.Contains(addr) {
					t.Fatalf("Find(%#x) = %v", addr, r)
				}
				if in(a, addr) {
					size++
				}
			}
		}
		if setA.Size() != size {
			t.Fatalf("Size of %v = %d, want %d", setA, setA.Size(), size)
		}
		for i, r := range union {
			if r.Start >= r.End || i > 0 && union[i-1].End >= r.Start {
				t.Fatalf("%v is not sorted and disjoint", union)
			}
		}
		if again := NewRangeSet(union...); !slices.Equal(again, union) {
			t.Fatalf("NewRangeSet is not idempotent: %v, %v", union, again)
		}
	})
}

// Windows return the bytes of one window, and an error for the rest.
func TestWindowsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ws Windows
		for range rapid.IntRange(0, 4).Draw(t, "windows") {
			// No wrap: a window may end with the address space's last byte.
			base := rapid.SampledFrom([]uint64{0, 0x1000, math.MaxUint64 - 47}).Draw(t, "base")
			data := rapid.SliceOfN(rapid.Byte(), 0, 32).Draw(t, "data")
			ws = append(ws, Window{Addr: base + rapid.Uint64Range(0, 16).Draw(t, "off"), Data: data})
		}
		addr := rapid.SampledFrom([]uint64{0, 0x1000, math.MaxUint64 - 47}).Draw(t, "at") + rapid.Uint64Range(0, 47).Draw(t, "atOff")
		n := rapid.IntRange(0, 40).Draw(t, "n")
		var want []byte
		found := false
		for _, w := range ws {
			if addr >= w.Addr && addr-w.Addr <= uint64(len(w.Data)) && uint64(n) <= uint64(len(w.Data))-(addr-w.Addr) {
				want, found = w.Data[addr-w.Addr:][:n], true
				break
			}
		}
		got := make([]byte, n)
		err := ws.ReadMemory(addr, got)
		var memErr *MemoryError
		switch {
		case found && (err != nil || !slices.Equal(got, want)):
			t.Fatalf("ReadMemory(%#x, %d) = %x, %v, want %x", addr, n, got, err, want)
		case !found && (!errors.As(err, &memErr) || memErr.Addr != addr || memErr.Size != n):
			t.Fatalf("ReadMemory(%#x, %d) = %v, want a memory error", addr, n, err)
		}
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			w, ok := ws.Word(addr, order)
			r, err := ReadWord(ws, addr, 8, order)
			if ok != (err == nil) || w != r {
				t.Fatalf("Word(%#x) = %#x, %v; ReadWord = %#x, %v", addr, w, ok, r, err)
			}
		}
	})
}

func TestReadWord(t *testing.T) {
	m := Windows{{Addr: 0x1000, Data: []byte{1, 2, 3, 4, 5, 6, 7, 8}}}
	tests := []struct {
		size  int
		order binary.ByteOrder
		want  uint64
	}{
		{4, binary.LittleEndian, 0x04030201}, {4, binary.BigEndian, 0x01020304},
		{8, binary.LittleEndian, 0x0807060504030201}, {8, binary.BigEndian, 0x0102030405060708},
	}
	for _, tt := range tests {
		if got, err := ReadWord(m, 0x1000, tt.size, tt.order); err != nil || got != tt.want {
			t.Errorf("ReadWord(%d, %v) = %#x, %v", tt.size, tt.order, got, err)
		}
	}
	if _, err := ReadWord(m, 0x1001, 8, binary.LittleEndian); err == nil {
		t.Error("a word that leaves the window was read")
	}
	if _, ok := m.Word(0xfff, binary.LittleEndian); ok {
		t.Error("a word before the window was read")
	}
}

func TestMemoryError(t *testing.T) {
	cause := errors.New("no such process")
	err := error(&MemoryError{Addr: 0x1234, Size: 8, Err: cause})
	if !errors.Is(err, cause) || err.Error() != "cannot read 8 bytes of memory at 0x1234: no such process" {
		t.Errorf("%v", err)
	}
	if got := (&MemoryError{Addr: 1, Size: 2}).Error(); got != "cannot read 2 bytes of memory at 0x1" {
		t.Error(got)
	}
}

func TestRangeSetIntersect(t *testing.T) {
	s := NewRangeSet(Range{0, 10}, Range{20, 30}, Range{40, 50})
	o := NewRangeSet(Range{5, 25}, Range{29, 41})
	got, want := s.Intersect(o), RangeSet{{5, 10}, {20, 25}, {29, 30}, {40, 41}}
	if len(got) != len(want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}

func TestRangeSetGaps(t *testing.T) {
	set := NewRangeSet(Range{Start: 10, End: 20}, Range{Start: 30, End: 40})
	for start := uint64(0); start < 50; start++ {
		for end := uint64(0); end < 50; end++ {
			gaps := set.Gaps(Range{Start: start, End: end})
			for at := uint64(0); at < 50; at++ {
				want := at >= start && at < end && !set.Contains(at)
				if got := NewRangeSet(gaps...).Contains(at); got != want {
					t.Fatalf("gaps of [%d, %d): %v: %d is in it: %v", start, end, gaps, at, got)
				}
			}
		}
	}
}
