package cfi

import "github.com/clewdbg/clew/unwind"

// glibc's _dl_runtime_resolve on arm64 begins on a frame that its caller, the procedure
// linkage table's first entry, has made: [sp] has x16, [sp+8] the return address. Its tables
// count from there, as if that were the CFA:
//
//	stp  x8, x9, [sp, #-208]!     cfa=sp+0, ra at [cfa+8]
//	...                           cfa=sp+208, ra at [cfa+8]
//	ldp  x8, x9, [sp], #208
//	ldp  x17, x30, [sp], #16      cfa=sp+0, ra at [cfa+8]
//	br   x16                      cfa=sp-16, ra at [cfa+8]
//
// But a function's return address does not lie above its frame: the CFA is above the pair.

// pair is the size of a pair of registers, by which a stack pointer moves.
const pair = 16

// abovePair returns the row with its CFA above the return address that lies at or above it,
// and itself if that is not so. At the last instruction the return address is in x30 again.
func (row *Row) abovePair() *Row {
	arch := row.table.opts.Arch
	if arch != unwind.ARM64 || row.Signal || row.RA.Kind != AtCFA || row.RA.Offset != pair-8 || row.CFA.Kind != InRegister {
		return row
	}
	out := *row
	out.CFA.Offset += pair
	out.RA.Offset -= pair
	if out.CFA.Register == arch.SP() && out.CFA.Offset == 0 {
		out.RA = Rule{Kind: SameValue}
	}
	out.Rules = make([]RegisterRule, len(row.Rules))
	for i, r := range row.Rules {
		if r.Kind == AtCFA || r.Kind == CFAPlus {
			r.Offset -= pair
		}
		out.Rules[i] = r
	}
	return &out
}
