package cfi

// entry is one length-prefixed entry of a section.
type entry struct {
	off  int // of the length
	body int // offset of the byte behind the CIE id or pointer
	end  int
	kind entryKind
	cie  int // offset of the CIE, for an FDE
}

type entryKind uint8

const (
	entryEnd entryKind = iota // a length of 0
	entryCIE
	entryFDE
)

// Lengths that stand for another format (DWARF 5, 7.4).
const (
	dwarf64      = 0xffff_ffff
	reservedFrom = 0xffff_fff0
)

// entryAt reads the beginning of the entry at an offset.
func (t *Table) entryAt(off int) (e entry, err *Error) {
	r := reader{data: t.section.Data, pos: off, big: t.big}
	e.off = off
	length, idSize := r.unsigned(4), 4
	switch {
	case length == dwarf64:
		length = r.unsigned(8)
		// In .eh_frame the id has 4 bytes in either format (LSB 5, 10.6.1.1).
		if t.section.Kind == DebugFrame {
			idSize = 8
		}
	case length >= reservedFrom:
		return e, t.errorf(uint64(off), "length %#x is reserved", length)
	}
	switch {
	case r.failed:
		return e, t.errorf(uint64(off), "the entry's length is cut off")
	case length == 0:
		e.end = r.pos
		return e, nil
	case length > uint64(r.left()):
		return e, t.errorf(uint64(off), "the entry has %d bytes, the section has %d left", length, r.left())
	case length < uint64(idSize):
		return e, t.errorf(uint64(off), "the entry has only %d bytes", length)
	}
	at := r.pos
	e.end = at + int(length)
	id := r.unsigned(idSize)
	e.body = r.pos
	if t.section.Kind == EHFrame {
		e.kind = entryFDE
		if id == 0 {
			e.kind = entryCIE
		} else if id > uint64(at) {
			return e, t.errorf(uint64(off), "the FDE's CIE would lie before the section")
		} else {
			e.cie = at - int(id)
		}
		return e, nil
	}
	if id == dwarf64 && idSize == 4 || id == ^uint64(0) {
		e.kind = entryCIE
		return e, nil
	}
	if id >= uint64(len(t.section.Data)) {
		return e, t.errorf(uint64(off), "the FDE's CIE would lie at %#x, behind the section", id)
	}
	e.kind, e.cie = entryFDE, int(id)
	return e, nil
}
