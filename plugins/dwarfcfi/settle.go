package dwarfcfi

import (
	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/internal/unwind/simulate"
	"github.com/clewdbg/clew/internal/unwind/tablewalk"
	"github.com/clewdbg/clew/unwind"
)

// What is said of steps by a rule that the code shows and the tables do not.
const (
	noteCode    = "by the function's own code: its tables are right at calls only"
	doubtLikely = noteCode + ", and the code is reached by indirect jumps, which makes its rule likely and not certain"
)

// settle asks the code of a function whether a row that may be right at calls only
// holds at an instruction between them. Where it does, the row has the tables'
// trust; where the code shows another rule, that counts, with the trust of a frame
// pointer, as everything that rests on code alone, or of a scanned frame where it
// is only likely. nil leaves the doubt: the code may not be all of the function, or
// it does not tell.
func settle(arch unwind.Arch, f *unwind.FunctionCode, fde *cfi.FDE, row *cfi.Row, pc uint64, regs *unwind.Registers) *tablewalk.Rule {
	if !f.Exact || f.Start != fde.Start || pc-f.Start >= uint64(len(f.Code)) {
		return nil
	}
	code, sure, _ := simulate.At(arch, f.Code, f.Start, pc)
	switch {
	case code == nil:
		return nil
	case agree(arch, row, &code.Rule, regs):
		return &tablewalk.Rule{Row: row, Text: row.String()}
	case !sure:
		return &tablewalk.Rule{Row: code, Text: code.String(), Doubt: doubtLikely}
	}
	return &tablewalk.Rule{Row: code, Text: code.String(), Trust: unwind.TrustFramePointer, Note: noteCode}
}

// agree says whether a row and a rule from the code are the same in a frame: one
// CFA, and every register in the same place.
func agree(arch unwind.Arch, row *cfi.Row, code *prologue.Rule, regs *unwind.Registers) bool {
	base, ok1 := regs.Get(row.CFA.Register)
	codeBase, ok2 := regs.Get(unwind.Register(code.CFA.Base))
	if !ok1 || !ok2 || row.CFA.Kind != cfi.InRegister || code.CFA.Deref || base+uint64(row.CFA.Offset) != codeBase+uint64(code.CFA.Off) {
		return false
	}
	places := map[unwind.Register]prologue.Loc{arch.FP(): code.FP}
	for _, s := range code.Saved[:code.N] {
		places[unwind.Register(s.Reg)] = s.Loc
	}
	for _, r := range row.Rules {
		loc, ok := places[r.Register]
		if !ok {
			loc = prologue.Loc{Kind: prologue.Same}
		}
		if r.Register != row.ReturnColumn && !samePlace(r.Rule, loc, r.Register) {
			return false
		}
		delete(places, r.Register)
	}
	for reg, loc := range places { // without a rule: the caller's still
		if !samePlace(cfi.Rule{}, loc, reg) {
			return false
		}
	}
	return samePlace(row.RA, code.RA, row.ReturnColumn)
}

// samePlace says whether two rules for a register give the same place.
func samePlace(rule cfi.Rule, loc prologue.Loc, reg unwind.Register) bool {
	switch rule.Kind {
	case cfi.Unspecified, cfi.SameValue:
		return loc.Kind == prologue.Same || loc.Kind == prologue.InReg && unwind.Register(loc.Reg) == reg
	case cfi.AtCFA:
		return loc.Kind == prologue.AtCFA && loc.Off == rule.Offset
	}
	return false
}
