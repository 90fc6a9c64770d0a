package compactunwind

import (
	"fmt"

	"github.com/clewdbg/clew/internal/unwind/simulate"
	"github.com/clewdbg/clew/internal/unwind/tablewalk"
	"github.com/clewdbg/clew/plugins/compactunwind/table"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// Notes on rules that may be wrong.
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
	body, dwarf, err := im.encoded(addr, kind)
	switch {
	case kind == unwind.KindInstruction:
		return im.anywhere(addr, body, dwarf, err)
	case err == nil && dwarf && im.pushes(body):
		return im.waiting(addr, body), nil
	}
	return body, err
}

// waiting is the rule of a frame that waits in a call, in a function whose table
// may be wrong there: the rule by the function's code, if that shows one.
func (im *image) waiting(addr uint64, body *tablewalk.Rule) *tablewalk.Rule {
	code, start, _ := im.functionCode(addr)
	if code == nil {
		return body
	}
	at, ok := im.callState(code, start, addr)
	if !ok {
		return body
	}
	row, _ := im.simulate(code, start, at, body)
	switch {
	case row == nil:
		return body
	case row.Sure:
		return &tablewalk.Rule{Rule: row.Rule}
	}
	return &tablewalk.Rule{Rule: row.Rule, Doubt: doubtLikely}
}

// anywhere is the rule at any instruction of a function, whose table, if it has
// one, describes its body.
func (im *image) anywhere(addr uint64, body *tablewalk.Rule, dwarf bool, err error) (*tablewalk.Rule, error) {
	var row *simulate.Row
	code, start, why := im.functionCode(addr)
	if code != nil {
		row, why = im.simulate(code, start, addr, body)
	}
	unusable := body == nil || err != nil
	switch {
	case row != nil && row.Sure:
		return &tablewalk.Rule{Rule: row.Rule}, nil
	case row != nil && (unusable || !row.Body || dwarf):
		return &tablewalk.Rule{Rule: row.Rule, Doubt: doubtLikely}, nil
	case unusable:
		return body, err
	}
	body.Doubt = doubtBody
	if why != "" {
		body.Doubt += " (" + why + ")"
	}
	return body, nil
}

// simulate finds the rule at an instruction by a function's code. If that is not
// certain, a table's rule for the body may settle it.
func (im *image) simulate(code []byte, start, at uint64, body *tablewalk.Rule) (row *simulate.Row, why string) {
	row, why = simulate.At(im.arch, simulate.Stopped, code, start, at)
	base, offset, ok := bodyCFA(body)
	if row == nil || row.Sure || !ok {
		return row, why
	}
	if better, _ := simulate.InBody(im.arch, code, start, at, base, offset); better != nil {
		better.Sure = better.Sure || better.Finds(base, offset)
		return better, why
	}
	return row, why
}

// functionCode returns the code of the function at an address from its start on,
// beyond that address; nil with the reason if it is unknown.
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

// pushes reports whether a rule is of a function on x86-64 that finds its frame
// by the stack pointer and moves that in its body. DWARF tables of such functions
// go by the order of the code and not by the paths through it: clang for macOS
// leaves them wrong where a push is not behind its pop.
func (im *image) pushes(body *tablewalk.Rule) bool {
	base, _, ok := bodyCFA(body)
	return ok && im.arch == unwind.AMD64 && base == im.arch.SP()
}

// bodyCFA is a table's rule for the CFA, if it is by a register.
func bodyCFA(body *tablewalk.Rule) (base unwind.Register, offset int64, ok bool) {
	if body == nil || body.CFA.From != rule.Register || body.CFA.Deref {
		return 0, 0, false
	}
	return body.CFA.Register, body.CFA.Offset, true
}

// encoded finds the rule in the tables. dwarf is true for a rule of __eh_frame.
func (im *image) encoded(addr uint64, kind unwind.PCKind) (found *tablewalk.Rule, dwarf bool, err error) {
	if addr < im.base || addr-im.base > 1<<32-1 {
		return nil, false, nil
	}
	entry, ok := im.table.Find(uint32(addr - im.base))
	if !ok {
		return nil, false, nil
	}
	r, err := im.decode(entry)
	if err != nil {
		return nil, false, fmt.Errorf("at %#x: %w", addr, err)
	}
	switch r.Kind {
	case table.Null:
		return nil, false, nil
	case table.DWARF:
		found, err = im.dwarf(addr, entry, r.FDE)
		return found, true, err
	}
	if r.InLR && kind == unwind.KindReturn {
		return nil, false, im.table.Refuse(entry, fmt.Errorf("the function at %#x keeps its return address in a register, and has called (R10)", addr))
	}
	return &tablewalk.Rule{Rule: r.Rule}, false, nil
}

// decode returns the rule of an entry, reading its code if needed.
func (im *image) decode(e table.Entry) (table.Rule, error) {
	start := im.base + uint64(e.Start)
	return im.table.Decode(im.arch, e, func(offset uint32, n int) []byte { return im.code(start+uint64(offset), n) })
}

// dwarf finds the rule in __eh_frame. The encoding has the FDE's offset; the
// index of all FDEs by address finds the same FDE, even where the offset is
// wrong, or is 0 because it did not fit the encoding.
func (im *image) dwarf(addr uint64, entry table.Entry, hint uint32) (*tablewalk.Rule, error) {
	if im.eh != nil {
		if fde, ok := im.eh.Find(addr); ok {
			row, err := im.eh.Row(&fde, addr)
			if err != nil {
				return nil, err
			}
			return &tablewalk.Rule{Rule: row.Rule()}, nil
		}
	}
	return nil, im.table.Refuse(entry, fmt.Errorf("no FDE for the code at %#x, though its encoding names one (at %#x in %s)", addr, hint, sectionEH))
}
