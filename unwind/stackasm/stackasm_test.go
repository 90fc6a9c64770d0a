package stackasm

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/clewdbg/clew/unwind"
)

func TestForwardAndBackwardReferences(t *testing.T) {
	m, err := New(unwind.AMD64, 0x1000).
		Mark("sp").Pad(8).
		Mark("fp0").Ref("fp1").Word(0x401234).
		Align(16).
		Mark("fp1").Value(At("fp0").Plus(-8), Num(7)).Bytes(1, 2, 3).
		Assemble()
	if err != nil {
		t.Fatal(err)
	}
	want := []uint64{0, 0x1020, 0x401234, 0, 0x1000, 7}
	for i, w := range want {
		if got, err := unwind.ReadWord(m.Windows(), 0x1000+uint64(i)*8, 8, binary.LittleEndian); err != nil || got != w {
			t.Errorf("word %d = %#x, %v; want %#x", i, got, err, w)
		}
	}
	if got := string(m.Data[48:]); got != "\x01\x02\x03" {
		t.Errorf("bytes = %q", got)
	}
	if m.Addr("fp1") != 0x1020 || m.End() != 0x1033 {
		t.Errorf("fp1 %#x, end %#x", m.Addr("fp1"), m.End())
	}
	if s := m.Segment(unwind.SegmentG0); s != (unwind.Segment{Low: 0x1000, High: 0x1033, Kind: unwind.SegmentG0}) {
		t.Errorf("segment %+v", s)
	}
	regs, err := m.Registers(unwind.AMD64, Values{"rsp": At("sp"), "rbp": At("fp0"), "rip": Num(0x40)})
	if err != nil {
		t.Fatal(err)
	}
	if fp, ok := regs.FP(unwind.AMD64); !ok || fp != 0x1008 || regs.Len() != 3 {
		t.Errorf("rbp %#x %v, %d registers", fp, ok, regs.Len())
	}
}

// TestRoundTrip writes random words in both orders and sizes, some as
// references, and reads them back.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{4, 8}).Draw(t, "size")
		order := rapid.SampledFrom([]binary.ByteOrder{binary.LittleEndian, binary.BigEndian}).Draw(t, "order")
		words := rapid.SliceOfN(rapid.Uint32(), 1, 50).Draw(t, "words")
		s := NewRaw(0x7000, size, order)
		for i, w := range words {
			if i%3 == 1 {
				s.Define(string(rune('a'+i)), uint64(w)).Ref(string(rune('a' + i)))
			} else {
				s.Word(uint64(w))
			}
		}
		m, err := s.Assemble()
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range words {
			got, err := unwind.ReadWord(m.Windows(), 0x7000+uint64(i*size), size, order)
			if err != nil || got != uint64(w) {
				t.Fatalf("word %d = %#x, %v; want %#x", i, got, err, w)
			}
		}
	})
}

func TestSlice(t *testing.T) {
	m, err := New(unwind.ARM64, 0x100).Word(1, 2, 3, 4).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	w := m.Slice(0x108, 0x1000)
	if len(w) != 1 || w[0].Addr != 0x108 || len(w[0].Data) != 24 {
		t.Errorf("slice %+v", w)
	}
	if m.Slice(0, 0x100) != nil || m.Slice(0x120, 0x200) != nil {
		t.Error("a slice outside the stack is not empty")
	}
}

func TestMistakes(t *testing.T) {
	for _, tc := range []struct {
		name string
		s    *Stack
		want string
	}{
		{"undefined", New(unwind.AMD64, 0x1000).Word(1).Ref("nowhere"), `at 0x1008: undefined label "nowhere"`},
		{"twice", New(unwind.AMD64, 0).Mark("a").Mark("a"), "defined twice"},
		{"nameless", New(unwind.AMD64, 0).Mark(""), "without a name"},
		{"too wide", New(unwind.I386, 0).Word(1 << 32), "does not fit"},
		{"alignment", New(unwind.AMD64, 0).Align(12), "power of two"},
		{"negative", New(unwind.AMD64, 0).Pad(-1), "limit"},
		{"huge", New(unwind.AMD64, 0).Pad(MaxSize + 1), "limit"},
		{"wraps", New(unwind.AMD64, ^uint64(0)-6).Word(1), "address space"},
		{"word size", NewRaw(0, 2, binary.LittleEndian), "neither"},
	} {
		if _, err := tc.s.Assemble(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
	m, err := New(unwind.AMD64, ^uint64(0)-7).Word(1).Assemble() // the last word there is
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Registers(unwind.AMD64, Values{"x29": Num(0)}); err == nil {
		t.Error("amd64 has a register x29")
	}
	if _, err := m.Registers(unwind.AMD64, Values{"rbp": At("x")}); !errors.Is(err, ErrLabel) {
		t.Errorf("undefined label in a register: %v", err)
	}
}
