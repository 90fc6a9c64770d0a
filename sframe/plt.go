package sframe

import (
	"bytes"

	"github.com/clewdbg/clew/unwind"
)

// The linker's rule for .plt.got (binutils 2.44 to 2.47, amd64) is one word off:
// every entry is a jump through the global offset table, reached by a call, so
// the CFA is SP+8; the table says SP+16. Entries have 8 bytes, with -z ibt 16.
const (
	wrongPLTGot = 16
	rightPLTGot = 8
)

// isPLTGot reports whether a function has exactly the wrong rule: repeated code
// whose first instruction would find two words on the stack. A long linkage table's
// row has a start of 2 or 4 bytes.
func (t *reading) isPLTGot(h *Header, f *function) bool {
	if h.Arch != unwind.AMD64 || f.block != 8 && f.block != 16 || f.count != 1 || f.bits&^bitsWidth != 0 {
		return false
	}
	e := t.rowAt(f, int(f.rows))
	w := t.words(h, e)
	return e.start == 0 && e.count() == 1 && e.info&rowBaseSP != 0 && w.signed(0) == wrongPLTGot
}

// correctPLTGot puts the rule right where the code shows that it is wrong. Where
// the code is not known the function is left out.
func (t *reading) correctPLTGot(f *function) *Error {
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

// isJump reports whether an entry begins with a jump through a place relative to
// itself, possibly behind prefixes.
func isJump(code []byte) bool {
	code = bytes.TrimPrefix(code, []byte{0xf3, 0x0f, 0x1e, 0xfa}) // endbr64
	code = bytes.TrimPrefix(code, []byte{0xf2})                   // bnd
	return bytes.HasPrefix(code, []byte{0xff, 0x25})
}

// The linker of version 1 has one set of rules for every linkage table, those of
// one without indirect branch tracking (-z ibtplt): entries that begin with
// endbr64 push earlier, and .plt.sec is described as if it had .plt's first entry,
// with the others one too far, over the code behind. They are right where the code
// is of the kind that they describe.
var (
	rowsPLT0 = [2]pltRow{{0, 16}, {6, 24}}
	rowsPLT  = [2]pltRow{{0, 8}, {11, 16}}
)

// pltRow is a row with a CFA relative to SP.
type pltRow struct {
	start  uint32
	offset int32
}

// checkPLT leaves out functions of version 1 with the rules of a linkage table
// whose code is not known to be of the kind that they describe, and repeated
// code that is not known to be one.
func (t *reading) checkPLT(h *Header, f *function) *Error {
	if h.Version != 1 || h.Arch != unwind.AMD64 {
		return nil
	}
	if f.block != 0 && t.pltCode(f) == nil { // only linkers write repeated code
		return t.errorf(int(f.rows), fieldRow, "the rules for repeated code at %#x are for no linkage table that is known", f.start)
	}
	if f.count != 2 || f.size < blockV1 {
		return nil
	}
	var rows [2]pltRow
	for i, at := 0, int(f.rows); i < len(rows); i++ {
		e := t.rowAt(f, at)
		w := t.words(h, e)
		if e.count() != 1 || e.info&rowBaseSP == 0 {
			return nil
		}
		rows[i], at = pltRow{e.start, w.signed(0)}, e.next()
	}
	is := isPLTEntry
	switch {
	case f.block == 0 && rows == rowsPLT0 && f.size == blockV1:
		is = isPLT0
	case f.block == 0 || rows != rowsPLT:
		return nil
	}
	code := t.pltCode(f)
	for len(code) > 0 && is(code) {
		code = code[min(len(code), blockV1):]
		if len(code) == 0 {
			return nil
		}
	}
	return t.errorf(int(f.rows), fieldRow, "the rules at %#x are those of a linkage table, and its code is another or not known", f.start)
}

// pltCode is the code of a function in a linkage table, empty if it is not known.
func (t *reading) pltCode(f *function) []byte {
	for _, s := range append(t.opts.PLT[:len(t.opts.PLT):len(t.opts.PLT)], t.opts.PLTGot) {
		if f.start >= s.Addr && f.end()-s.Addr <= uint64(len(s.Data)) {
			return s.Data[f.start-s.Addr : f.end()-s.Addr]
		}
	}
	return nil
}

// isPLT0 reports whether code begins as the first entry of .plt does: push, jmp.
func isPLT0(code []byte) bool {
	return len(code) >= 8 && code[0] == 0xff && code[1] == 0x35 && code[6] == 0xff && code[7] == 0x25
}

// isPLTEntry reports whether code begins as the others do: jmp, push, jmp.
func isPLTEntry(code []byte) bool {
	return len(code) >= 12 && code[0] == 0xff && code[1] == 0x25 && code[6] == 0x68 && code[11] == 0xe9
}
