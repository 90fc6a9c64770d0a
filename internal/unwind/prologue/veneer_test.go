package prologue_test

import (
	"encoding/binary"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/prologue"
)

// TestVeneers: arm64's veneers and stubs lead where the instructions before the jump have
// computed, and only those.
func TestVeneers(t *testing.T) {
	const start, page = 0x401000, 0x402000
	const (
		adrp    = 0xb0000010 // adrp x16, page
		add     = 0x91008210 // add x16, x16, #32
		load    = 0xf9400611 // ldr x17, [x16, #8]
		literal = 0x58000050 // ldr x16, .+8
		nop     = 0xd503201f
		br16    = 0xd61f0200
		br17    = 0xd61f0220
		blr17   = 0xd63f0220
	)
	for name, c := range map[string]struct {
		code []uint32
		want prologue.Insn // the last instruction
	}{
		"veneer":           {[]uint32{adrp, add, br16}, prologue.Insn{Flow: prologue.FlowJump, Len: 4, Target: page + 32}},
		"page":             {[]uint32{adrp, br16}, prologue.Insn{Flow: prologue.FlowJump, Len: 4, Target: page}},
		"stub":             {[]uint32{adrp, load, add, br17}, prologue.Insn{Flow: prologue.FlowJumpIndirect, Len: 4, Pointer: page + 8}},
		"call":             {[]uint32{adrp, load, blr17}, prologue.Insn{Flow: prologue.FlowCallIndirect, Len: 4, Pointer: page + 8}},
		"literal":          {[]uint32{literal, br16}, prologue.Insn{Flow: prologue.FlowJumpIndirect, Len: 4, Pointer: start + 8}},
		"another register": {[]uint32{adrp, add, br17}, prologue.Insn{Flow: prologue.FlowJumpIndirect, Len: 4}},
		"not right before": {[]uint32{adrp, add, nop, br16}, prologue.Insn{Flow: prologue.FlowJumpIndirect, Len: 4}},
		"nothing":          {[]uint32{br16}, prologue.Insn{Flow: prologue.FlowJumpIndirect, Len: 4}},
	} {
		var d prologue.Decoder
		var got prologue.Insn
		for i, w := range c.code {
			got = d.ARM64(binary.LittleEndian.AppendUint32(nil, w), start+4*uint64(i))
		}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestRefersByPage: the address that adrp and add compute, the first page of a library among
// them, whose address is 0. Without an adrp before it an add computes none.
func TestRefersByPage(t *testing.T) {
	const (
		start = 0x1200
		first = 0xf0ffffe0 // adrp x0, 0
		third = 0xb0000000 // adrp x0, 0x2000, at start
		add   = 0x913b0000 // add x0, x0, #0xec0
		other = 0x913b0021 // add x1, x1, #0xec0
		none  = 0xf0ffffff // adrp xzr, 0
		stack = 0x910043ff // add sp, sp, #16
	)
	for name, c := range map[string]struct {
		code []uint32
		want uint64
	}{
		"first page":       {[]uint32{first, add}, 0xec0},
		"another page":     {[]uint32{third, add}, 0x2ec0},
		"another register": {[]uint32{first, other}, 0},
		"no page":          {[]uint32{add}, 0},
		"stack pointer":    {[]uint32{none, stack}, 0},
	} {
		var d prologue.Decoder
		var got prologue.Insn
		for i, w := range c.code {
			got = d.ARM64(binary.LittleEndian.AppendUint32(nil, w), start+4*uint64(i))
		}
		if got.Refers != c.want {
			t.Errorf("%s: refers to %#x, want %#x", name, got.Refers, c.want)
		}
	}
}
