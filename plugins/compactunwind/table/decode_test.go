package table

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// savedBy lists the registers that a function saved, the frame pointer among them, by
// descending address.
func savedBy(r *Rule) []rule.Saved {
	list := slices.Clone(r.Saved)
	if r.FP.From == rule.CFA {
		list = append(list, rule.Saved{Register: r.Arch.FP(), Value: r.FP})
	}
	slices.SortFunc(list, func(a, b rule.Saved) int { return cmp.Compare(b.Offset, a.Offset) })
	return list
}

// describe writes a rule as equations.
func describe(arch unwind.Arch, r Rule) string {
	switch r.Kind {
	case Null:
		return "null"
	case DWARF:
		return fmt.Sprintf("dwarf %#x", r.FDE)
	}
	s := fmt.Sprintf("cfa=%s%+d", arch.RegisterName(r.CFA.Register), r.CFA.Offset)
	if r.InLR {
		s += " lr"
	}
	for _, saved := range savedBy(&r) {
		s += fmt.Sprintf(" %s=[cfa%+d]", arch.RegisterName(saved.Register), saved.Offset)
	}
	return s
}

// sub is a function that begins with push rbx; sub rsp, 0x7d80.
func sub(offset uint32, n int) []byte {
	code := []byte{0x53, 0x48, 0x81, 0xec, 0x80, 0x7d, 0, 0}
	if int(offset) > len(code) {
		return nil
	}
	return code[offset:min(int(offset)+n, len(code))]
}

// The encodings' fields are those of compact_unwind_encoding.h and
// CompactUnwinder.hpp.
func TestDecode(t *testing.T) {
	for _, c := range []struct {
		arch     unwind.Arch
		encoding Encoding
		want     string
	}{
		{unwind.AMD64, 0, "null"},
		{unwind.AMD64, 0x4000_0000, "null"}, // with an LSDA mark
		{unwind.AMD64, 0x0101_0001, "cfa=rbp+16 rbp=[cfa-16] rbx=[cfa-24]"},
		// Slots from the lowest on: rbx, none, r14; the lowest is 4 words below.
		{unwind.AMD64, 0x0104_0000 | 1 | 4<<6, "cfa=rbp+16 rbp=[cfa-16] r14=[cfa-32] rbx=[cfa-48]"},
		{unwind.AMD64, 0x0202_0400, "cfa=rsp+16 rbx=[cfa-16]"},
		{unwind.AMD64, 0x020c_1800, "cfa=rsp+96 rbp=[cfa-16] r15=[cfa-24] r14=[cfa-32] r13=[cfa-40] r12=[cfa-48] rbx=[cfa-56]"},
		// The operand at offset 4, two words pushed.
		{unwind.AMD64, 0x0304_4400, "cfa=rsp+32144 rbx=[cfa-16]"},
		{unwind.AMD64, 0x0400_0123, "dwarf 0x123"},
		{unwind.I386, 0x0101_0001, "cfa=ebp+8 ebp=[cfa-8] ebx=[cfa-12]"},
		{unwind.I386, 0x0203_0400, "cfa=esp+12 ebx=[cfa-8]"},
		{unwind.ARM64, 0x0200_0000, "cfa=sp+0 lr"},
		{unwind.ARM64, 0x0200_2001, "cfa=sp+32 lr x19=[cfa-8] x20=[cfa-16]"},
		{unwind.ARM64, 0x0300_0040, "dwarf 0x40"},
		{unwind.ARM64, 0x0400_0101, "cfa=x29+16 x29=[cfa-16] x19=[cfa-24] x20=[cfa-32] d8=[cfa-40] d9=[cfa-48]"},
		{unwind.ARM64, 0x0500_0000, "cfa=x29+16 x29=[cfa-16]"},
	} {
		r, err := c.encoding.Decode(c.arch, sub)
		if err != nil {
			t.Errorf("%v %#08x: %v", c.arch, uint32(c.encoding), err)
		} else if got := describe(c.arch, r); got != c.want {
			t.Errorf("%v %#08x: %s\nwant %s", c.arch, uint32(c.encoding), got, c.want)
		}
	}
}

func TestImpossibleEncodings(t *testing.T) {
	for _, c := range []struct {
		arch     unwind.Arch
		encoding Encoding
		want     string
	}{
		{unwind.AMD64, 0x0000_0001, "mode 0"},
		{unwind.AMD64, 0x0500_0000, "mode 5"},
		{unwind.AMD64, 0x0105_0006, "register number 6"},
		{unwind.AMD64, 0x0105_0007, "register number 7"},
		{unwind.AMD64, 0x0105_0009, "two slots have register number 1"},
		{unwind.AMD64, 0x0101_0008, "slot 1 lies above the frame pointer"},
		{unwind.AMD64, 0x0220_1c00, "no order of 7 registers"},
		{unwind.AMD64, 0x0208_0406, "no order of 1 registers"},
		{unwind.AMD64, 0x0200_0000, "no room"},
		{unwind.AMD64, 0x0301_0000, "no instruction has an operand"},
		{unwind.AMD64, 0x0305_0000, "which is not known"}, // beyond the code at hand
		{unwind.AMD64, 0x0303_0000, "no instruction at offset 0"},
		{unwind.ARM64, 0x0100_0000, "mode 1"},
		{unwind.ARM64, 0x0200_0001, "no room"},
		{unwind.S390X, 0x0100_0000, "no compact unwind encodings"},
	} {
		_, err := c.encoding.Decode(c.arch, sub)
		var e *EncodingError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %#08x: %v; want: %s", c.arch, uint32(c.encoding), err, c.want)
		}
	}
	if _, err := Encoding(0x0304_0000).Decode(unwind.AMD64, nil); err == nil {
		t.Error("a size was found without code")
	}
}
