package compactunwind

import (
	"fmt"

	"github.com/clewdbg/clew/plugins/compactunwind/table"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/simulate"
	"github.com/clewdbg/clew/unwind/tablewalk"
)

// What is said of rules that may be wrong.
const (
	doubtBody   = "the rule describes the function's body, and the instruction may lie in its prologue or epilogue"
	doubtLikely = "the code is reached by indirect jumps only: the rule is likely, not certain"
)

// maxFunction bounds the code that is simulated, in bytes.
const maxFunction = 1 << 20

// Rule implements [tablewalk.Tables].
func (im *image) Rule(addr uint64, kind unwind.PCKind) (*tablewalk.Rule, error) {
	if im.stubs.Contains(addr) || im.helper.Contains(addr) {
		return im.stub(addr, kind)
	}
	if kind == unwind.KindReturn {
		return im.encoded(addr, kind)
	}
	row, sure, why := im.simulated(addr)
	if row != nil && sure {
		return &tablewalk.Rule{Row: row, Text: row.String()}, nil
	}
	rule, err := im.encoded(addr, kind)
	if rule != nil && err == nil {
		rule.Doubt = doubtBody
		if why != "" {
			rule.Doubt += " (" + why + ")"
		}
		return rule, nil
	}
	if row != nil {
		return &tablewalk.Rule{Row: row, Text: row.String(), Doubt: doubtLikely}, nil
	}
	return rule, err
}

// simulated finds the rule at an instruction in the function's own code.
func (im *image) simulated(addr uint64) (row *simulate.Row, sure bool, why string) {
	f, ok := im.function(addr)
	if !ok || f.End-f.Start > maxFunction {
		return nil, false, "where its function starts is not known"
	}
	code := im.code(f.Start, int(f.End-f.Start))
	if uint64(len(code)) <= addr-f.Start {
		return nil, false, "its function's code is not known"
	}
	return simulate.At(im.arch, code, f.Start, addr)
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
		return im.dwarf(addr, r.FDE)
	}
	if r.InLR && kind == unwind.KindReturn {
		return nil, fmt.Errorf("the function at %#x keeps its return address in a register, and has called (R10)", addr)
	}
	row := &encodedRow{arch: im.arch, rule: r}
	return &tablewalk.Rule{Row: row, Text: row.String()}, nil
}

// decode gives the rule of an entry, with what of its code that needs.
func (im *image) decode(e table.Entry) (table.Rule, error) {
	start := im.base + uint64(e.Start)
	return e.Encoding.Decode(im.arch, func(offset uint32, n int) []byte { return im.code(start+uint64(offset), n) })
}

// dwarf finds the rule in __eh_frame. The encoding says where the FDE is; the
// index of all FDEs by address says the same, also where the offset was too large
// for the encoding and is 0, or is wrong.
func (im *image) dwarf(addr uint64, hint uint32) (*tablewalk.Rule, error) {
	if im.eh != nil {
		if fde, ok := im.eh.Find(addr); ok {
			row, err := im.eh.Row(&fde, addr)
			if err != nil {
				return nil, err
			}
			return &tablewalk.Rule{Row: row, Text: row.String(), Signal: row.Signal}, nil
		}
	}
	return nil, fmt.Errorf("the code at %#x is said to have an FDE (at %#x in %s), and has none", addr, hint, sectionEH)
}
