package sframe

import (
	"bytes"
	"math"

	"github.com/clewdbg/clew/unwind"
)

// Where the CFA rests on a register that is neither stack pointer nor frame pointer,
// the assembler of version 1 (binutils 2.40) keeps the register of the row before,
// without a warning: SP, with an offset that holds for the other one. gcc writes such
// code for large frames with -fstack-clash-protection, where the stack is probed page
// by page. The offset stays when the CFA moves from one register to the other, so that
// the mistake shows as two rows in a row with the same rules: the second where the CFA
// left SP, the first where it came back to it. The assembler repeats rules for other
// reasons too: on amd64 hardly ever (of sqlite's code, in six builds, at most one byte
// in 3,300), on arm64 wherever a register is saved, but not before the return address
// is, which is when gcc probes. None of such rows is used.
//
// Version 2's assembler (2.44) leaves out a function with such a CFA. But as version
// 1's it drops other directives of hand-written assembly and repeats the row before:
// that the return address is undefined, at the start of a thread, or that the frame
// pointer is the caller's again. So its repeated rows are not used either.

// doubtful reports whether a row of version 1 or 2 may be such a one: the next or
// the one before has the same rules. The last row of a function has no next. Only a
// function that has such a row is asked ([bitDoubtful]).
func (t *Table) doubtful(h *Header, f *function, e encoded, last bool) bool {
	if !last && t.repeated(h, f, e) {
		return true
	}
	if e.start == 0 {
		return false
	}
	at, n, _ := t.stretch(f, e.start-1, math.MaxUint32)
	before, _ := scan(t.section.Data, at, n, f.width(), h.Big, e.start-1, math.MaxUint32)
	return before.words != 0 && t.repeated(h, f, before)
}

// repeated reports whether the row behind one, which must exist, has the same
// rules, on SP.
func (t *Table) repeated(h *Header, f *function, e encoded) bool {
	if e.info&rowBaseSP == 0 || h.Arch == unwind.ARM64 && e.count() > 1 {
		return false
	}
	next := encodedAt(t.section.Data, e.next(), f.width(), h.Big)
	return next.info == e.info && bytes.Equal(t.section.Data[e.words:e.next()], t.section.Data[next.words:next.next()])
}

// markDoubtful looks for such rows in a function whose rows are known to be whole.
func (t *reading) markDoubtful(h *Header, f *function) {
	if h.Version > 2 || t.opts.Verbatim {
		return
	}
	e := t.rowAt(f, int(f.rows))
	for n := f.count; n > 1; n-- {
		if t.repeated(h, f, e) {
			f.bits |= bitDoubtful
			return
		}
		e = t.rowAt(f, e.next())
	}
}
