package sframe

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/clewdbg/clew/unwind"
)

// unmerged refuses a table as the assembler of binutils up to 2.44 writes it
// into object files: starts are relative to their own field there, though
// nothing says so, and a linker that knows nothing of SFrame leaves them that
// way. Linkers that merge tables sort them. In one that is not sorted, starts
// that make no sense, and do when they are taken relative to their fields, tell.
func (t *Table) unmerged(h *Header) *Error {
	if h.Flags&(FlagPCRelative|FlagSorted) != 0 {
		return nil
	}
	asSaid, toFields := make([]unwind.Range, 0, h.Functions), make([]unwind.Range, 0, h.Functions)
	for i := range int(h.Functions) {
		f, bad := t.function(h, 0, i)
		if bad != nil || f.size == 0 {
			continue
		}
		asSaid = append(asSaid, unwind.Range{Start: f.start, End: f.end()})
		shift := uint64(f.entry) - h.Offset
		toFields = append(toFields, unwind.Range{Start: f.start + shift, End: f.end() + shift})
	}
	if t.sensible(asSaid) || !t.sensible(toFields) {
		return nil
	}
	return t.errorf(int(h.Offset)+3, "sfp_flags", "starts are relative to their fields, as in object files, though the flag that says so is not set")
}

// sensible says whether functions lie in the program's code and not in each
// other.
func (t *Table) sensible(functions []unwind.Range) bool {
	slices.SortFunc(functions, func(a, b unwind.Range) int { return cmp.Compare(a.Start, b.Start) })
	for i, f := range functions {
		if i > 0 && f.Start < functions[i-1].End && f != functions[i-1] {
			return false
		}
		if code, ok := t.opts.Code.Find(f.Start); len(t.opts.Code) > 0 && (!ok || f.End > code.End) {
			return false
		}
	}
	return true
}

// The linker's rule for .plt.got (binutils 2.44 to 2.47, amd64) is one word off:
// every entry is a jump through the global offset table, reached by a call, so
// the CFA is SP+8; the table says SP+16. Entries have 8 bytes, with -z ibt 16.
const (
	wrongPLTGot = 16
	rightPLTGot = 8
)

// isPLTGot says whether a function has the rule that is wrong, and nothing else:
// repeated code whose first instruction would find two words on the stack.
func (t *Table) isPLTGot(h *Header, f *function) bool {
	if h.Arch != unwind.AMD64 || f.block != 8 && f.block != 16 || f.count != 1 || f.bits != 0 {
		return false
	}
	e := t.rowAt(f, int(f.rows))
	w := t.words(h, e)
	return e.start == 0 && e.count() == 1 && e.info&rowBaseSP != 0 && w.signed(0) == wrongPLTGot
}

// correctPLTGot puts the rule right where the code shows that it is wrong. Where
// the code is not known the function is left out.
func (t *Table) correctPLTGot(f *function) *Error {
	plt := t.opts.PLTGot
	refuse := func(why string) *Error {
		return t.errorf(int(f.rows), fieldRow, "the rule for repeated code at %#x is the one that linkers write wrongly for .plt.got; %s", f.start, why)
	}
	if f.start < plt.Addr || f.end()-plt.Addr > uint64(len(plt.Data)) || len(plt.Data) == 0 {
		return refuse("that section is not known to be there")
	}
	code := plt.Data[f.start-plt.Addr : f.end()-plt.Addr]
	for len(code) > 0 {
		entry := code[:min(len(code), int(f.block))]
		if !isJump(entry) {
			return refuse("its code is another")
		}
		code = code[len(entry):]
	}
	f.bits |= bitCorrected
	return nil
}

// isJump says whether an entry begins with a jump through a place relative to
// itself, with what may stand before it.
func isJump(code []byte) bool {
	code = bytes.TrimPrefix(code, []byte{0xf3, 0x0f, 0x1e, 0xfa}) // endbr64
	code = bytes.TrimPrefix(code, []byte{0xf2})                   // bnd
	return bytes.HasPrefix(code, []byte{0xff, 0x25})
}
