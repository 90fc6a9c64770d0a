package dwarfcfi

import (
	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/internal/unwind/simulate"
	"github.com/clewdbg/clew/internal/unwind/tablewalk"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// Notes on steps by a rule that the code shows and the tables do not.
const (
	noteCode    = "by the function's own code: its tables are right at calls only"
	doubtLikely = noteCode + ", and the code is reached by indirect jumps, which makes its rule likely and not certain"
)

// settle simulates a function's code to find out whether a row that may be right at
// calls only holds at an instruction between them. If it does, the row has the
// tables' trust. If the code shows another rule, that counts, with the trust of a
// frame pointer, like everything that rests on code alone, or of a scanned frame if
// it is only likely. nil leaves the doubt: the code may be incomplete, or shows no
// rule.
func settle(f *unwind.FunctionCode, fde *cfi.FDE, table *rule.Rule, pc uint64, regs *unwind.Registers) *tablewalk.Rule {
	if !f.Exact || f.Start != fde.Start || pc-f.Start >= uint64(len(f.Code)) {
		return nil
	}
	code, _ := simulate.At(table.Arch, simulate.Stopped, f.Code, f.Start, pc)
	switch {
	case code == nil:
		return nil
	case agree(table, &code.Rule, regs):
		return &tablewalk.Rule{Rule: *table}
	case !code.Sure:
		return &tablewalk.Rule{Rule: code.Rule, Doubt: doubtLikely}
	}
	return &tablewalk.Rule{Rule: code.Rule, Trust: unwind.TrustFramePointer, Note: noteCode}
}

// agree reports whether two rules are the same in a frame: one CFA, possibly by
// different registers, and every register in the same place.
func agree(table, code *rule.Rule, regs *unwind.Registers) bool {
	cfa, ok1 := inRegister(table, regs)
	codeCFA, ok2 := inRegister(code, regs)
	return ok1 && ok2 && cfa == codeCFA && table.EqualPlaces(code)
}

// inRegister returns the CFA of a rule that finds it by a register.
func inRegister(r *rule.Rule, regs *unwind.Registers) (cfa uint64, ok bool) {
	base, ok := regs.Get(r.CFA.Register)
	return base + uint64(r.CFA.Offset), ok && r.CFA.From == rule.Register && !r.CFA.Deref
}
