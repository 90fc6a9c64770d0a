package compactunwind

import (
	"fmt"

	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/internal/unwind/simulate"
	"github.com/clewdbg/clew/internal/unwind/tablewalk"
	"github.com/clewdbg/clew/plugins/compactunwind/table"
	"github.com/clewdbg/clew/unwind"
)

// What is said of rules that may be wrong.
const (
	doubtBody   = "the rule describes the function's body, and the instruction may lie in its prologue or epilogue"
	doubtLikely = "the code is reached by indirect jumps only, or not all of it is understood: the rule is likely, not certain"
)

// maxFunction bounds the code that is simulated, in bytes.
const maxFunction = 1 << 20

// Rule implements [tablewalk.Tables].
func (im *image) Rule(addr uint64, kind unwind.PCKind) (*tablewalk.Rule, error) {
	if im.stubs.Contains(addr) || im.helper.Contains(addr) {
		return im.stub(addr, kind)
	}
	rule, err := im.encoded(addr, kind)
	if kind == unwind.KindReturn && (err != nil || !im.pushes(rule)) {
		return rule, err
	}
	at := addr
	code, start, why := im.functionCode(addr)
	if code != nil && kind == unwind.KindReturn {
		var ok bool
		if at, ok = im.callState(code, start, addr); !ok {
			return rule, nil
		}
	}
	var row *simulate.Row
	sure := false
	if code != nil {
		row, sure, why = simulate.At(im.arch, code, start, at)
	}
	if base, offset, ok := bodyCFA(rule); row != nil && !sure && ok && err == nil {
		if better, settled, _ := simulate.InBody(im.arch, code, start, at, base, offset); better != nil {
			row, sure = better, settled || better.Finds(base, offset)
		}
	}
	switch {
	case row != nil && sure:
		return &tablewalk.Rule{Row: row, Text: row.String()}, nil
	case row != nil && (rule == nil || err != nil || !row.Body || isDWARF(rule)):
		return &tablewalk.Rule{Row: row, Text: row.String(), Doubt: doubtLikely}, nil
	case kind == unwind.KindReturn || rule == nil || err != nil:
		return rule, err
	}
	rule.Doubt = doubtBody
	if why != "" {
		rule.Doubt += " (" + why + ")"
	}
	return rule, nil
}

// functionCode gives the code of the function at an address from its start on,
// beyond that address; nil with the reason where that is not known.
func (im *image) functionCode(addr uint64) (code []byte, start uint64, why string) {
	f, ok := im.function(addr)
	if !ok || f.End-f.Start > maxFunction {
		return nil, 0, "where its function starts is not known"
	}
	code = im.code(f.Start, int(f.End-f.Start))
	if uint64(len(code)) <= addr-f.Start {
		return nil, 0, "its function's code is not known"
	}
	return code, f.Start, ""
}

// isDWARF says whether a rule is of __eh_frame.
func isDWARF(rule *tablewalk.Rule) bool {
	_, ok := rule.Row.(*cfi.Row)
	return ok
}

// pushes says whether a rule is of a function on x86-64 that finds its frame by
// the stack pointer and moves that in its body, for which there are DWARF tables.
// They go by the order of the code and not by the paths through it: clang for
// macOS does not mend them where a push is not behind its pop.
func (im *image) pushes(rule *tablewalk.Rule) bool {
	if im.arch != unwind.AMD64 || rule == nil || !isDWARF(rule) {
		return false
	}
	base, _, ok := bodyCFA(rule)
	return ok && base == im.arch.SP()
}

// bodyCFA is how a table says that the CFA is found.
func bodyCFA(rule *tablewalk.Rule) (base unwind.Register, offset int64, ok bool) {
	if rule == nil {
		return 0, 0, false
	}
	switch r := rule.Row.(type) {
	case *encodedRow:
		return r.rule.Base, r.rule.Offset, true
	case *cfi.Row:
		return r.CFA.Register, r.CFA.Offset, r.CFA.Kind == cfi.InRegister
	}
	return 0, 0, false
}

// encoded finds the rule in the tables.
func (im *image) encoded(addr uint64, kind unwind.PCKind) (*tablewalk.Rule, error) {
	if addr < im.base || addr-im.base > 1<<32-1 {
		return nil, nil
	}
	entry, ok := im.table.Find(uint32(addr - im.base))
	if !ok {
		return nil, nil
	}
	r, err := im.decode(entry)
	if err != nil {
		return nil, fmt.Errorf("at %#x: %w", addr, err)
	}
	switch r.Kind {
	case table.Null:
		return nil, nil
	case table.DWARF:
		return im.dwarf(addr, entry, r.FDE)
	}
	if r.InLR && kind == unwind.KindReturn {
		return nil, im.table.Refuse(entry, fmt.Errorf("the function at %#x keeps its return address in a register, and has called (R10)", addr))
	}
	row := &encodedRow{arch: im.arch, rule: r}
	return &tablewalk.Rule{Row: row, Text: row.String()}, nil
}

// decode gives the rule of an entry, with what of its code that needs.
func (im *image) decode(e table.Entry) (table.Rule, error) {
	start := im.base + uint64(e.Start)
	return im.table.Decode(im.arch, e, func(offset uint32, n int) []byte { return im.code(start+uint64(offset), n) })
}

// dwarf finds the rule in __eh_frame. The encoding says where the FDE is; the
// index of all FDEs by address says the same, also where the offset was too large
// for the encoding and is 0, or is wrong.
func (im *image) dwarf(addr uint64, entry table.Entry, hint uint32) (*tablewalk.Rule, error) {
	if im.eh != nil {
		if fde, ok := im.eh.Find(addr); ok {
			row, err := im.eh.Row(&fde, addr)
			if err != nil {
				return nil, err
			}
			return &tablewalk.Rule{Row: row, Text: row.String(), Signal: row.Signal}, nil
		}
	}
	return nil, im.table.Refuse(entry, fmt.Errorf("the code at %#x is said to have an FDE (at %#x in %s), and has none", addr, hint, sectionEH))
}
