package table

import (
	"math/bits"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// The modes of arm64 (UNWIND_ARM64_MODE_MASK).
const (
	arm64Frameless  = 2
	arm64DWARF      = 3
	arm64Frame      = 4
	arm64FramePAuth = 5 // FRAME_PAUTH_LR
)

// arm64Pairs are the registers that may be saved, the pair nearest to the frame
// record first, with their bits. Bits 5 to 7 are unused.
var arm64Pairs = [...]struct {
	bit   uint
	first unwind.Register
}{
	{0, 19}, {1, 21}, {2, 23}, {3, 25}, {4, 27},
	{8, 72}, {9, 74}, {10, 76}, {11, 78}, // d8 and d9, ...
}

func (e Encoding) decodeARM64() (Rule, error) {
	switch e.mode() {
	case arm64Frameless:
		// Bits 12 to 23 are the size in units of 16 bytes. The pairs lie below the
		// CFA; libunwind has them 8 bytes too high.
		size := 16 * int64(e.bits(12, 12))
		r := steps(unwind.ARM64, unwind.ARM64SP, size, 2*bits.OnesCount32(e.bits(0, 12)))
		r.InLR, r.RA = true, rule.Value{From: rule.Same}
		e.savePairs(&r, -8)
		if need := 8 * int64(len(r.Saved)); need > size {
			return Rule{}, encodingError(e, "a frame of %d bytes has no room for %d registers", size, len(r.Saved))
		}
		return r, nil
	case arm64DWARF:
		return Rule{Kind: DWARF, FDE: e.bits(0, 24)}, nil
	case arm64Frame, arm64FramePAuth:
		r := steps(unwind.ARM64, unwind.ARM64FP, 16, 2*bits.OnesCount32(e.bits(0, 12)))
		r.Signed = e.mode() == arm64FramePAuth
		r.save(unwind.ARM64FP, -16)
		e.savePairs(&r, -24)
		return r, nil
	}
	return Rule{}, encodingError(e, "mode %d is not known", e.mode())
}

// savePairs adds the pairs, from an offset from the CFA downwards.
func (e Encoding) savePairs(r *Rule, at int64) {
	for _, p := range arm64Pairs {
		if e.bits(p.bit, 1) != 0 {
			r.save(p.first, at)
			r.save(p.first+1, at-8)
			at -= 16
		}
	}
}
