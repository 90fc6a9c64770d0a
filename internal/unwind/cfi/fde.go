package cfi

// FDE describes the frames of one piece of code, most often one function.
type FDE struct {
	// Start and End are the code that it describes, in the target.
	Start, End uint64
	// Offset is where it is in the section.
	Offset uint64

	cie        *cie
	instr, end int // its instructions, in the section
}

// Signal says that the code is a signal's trampoline: its caller was
// interrupted, not called (augmentation S).
func (f *FDE) Signal() bool { return f.cie.signal }

// Contains reports whether an address lies in the code described.
func (f *FDE) Contains(addr uint64) bool { return addr >= f.Start && addr < f.End }

// parseFDE reads the rest of an FDE. An FDE of code that the linker dropped has
// no range: live is false.
func (t *Table) parseFDE(e *entry, c *cie) (f FDE, live bool, err *Error) {
	r := reader{data: t.section.Data[:e.end], pos: e.body, big: t.big}
	start, null := t.pointer(&r, c.encoding, t.addrSize)
	size := number(&r, c.encoding&peFormat, t.addrSize)
	if c.sized {
		r.skip(r.uleb())
	}
	if r.failed {
		return f, false, t.errorf(uint64(e.off), "FDE: it is cut off")
	}
	// A linker writes 0, or all ones, where the code was discarded.
	if null || size == 0 || start == truncate(^uint64(0)+t.opts.Bias, t.addrSize) {
		return f, false, nil
	}
	f = FDE{Start: start, End: start + size, Offset: uint64(e.off), cie: c, instr: r.pos, end: e.end}
	if f.End < f.Start || t.addrSize == 4 && f.End > 1<<32 {
		return f, false, t.errorf(uint64(e.off), "FDE: %#x bytes of code from %#x go beyond the address space", size, start)
	}
	return f, true, nil
}

func (t *Table) at(offset uint64) (f FDE, live bool, err *Error) {
	if offset >= uint64(len(t.section.Data)) {
		return f, false, t.errorf(offset, "there is no FDE behind the end of the section")
	}
	e, err := t.entryAt(int(offset))
	if err != nil {
		return f, false, err
	}
	if e.kind != entryFDE {
		return f, false, t.errorf(offset, "there is no FDE")
	}
	c, err := t.parseCIE(e.cie)
	if err != nil {
		return f, false, err
	}
	return t.parseFDE(&e, c)
}
