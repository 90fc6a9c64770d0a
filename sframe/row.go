package sframe

import (
	"fmt"

	"github.com/clewdbg/clew/unwind"
)

// Bits of a row's info byte.
const (
	rowBaseSP    = 0x01
	rowCount     = 0x1e
	rowWordSize  = 0x60
	rowManyWords = 0x18 // of rowCount: more than maxWords
	rowMangled   = 0x80
	maxWordWidth = 2 // of the three that there are: 1, 2, 4 bytes
)

// The bits of a control word (version 3's flexible rules).
const (
	controlRegister = 1 // the base is a register, else the CFA
	controlDeref    = 2
	controlUnused   = 4
	controlShift    = 3
)

const fieldRow = "sframe_frame_row_entry"

// wordBytes is the number of bytes of a row's words, by its info byte; badSize if
// the size of its words is unknown.
var wordBytes = func() (sizes [256]uint8) {
	for info := range sizes {
		sizes[info] = badSize
		if size := info & rowWordSize >> 5; size <= maxWordWidth {
			sizes[info] = uint8(info & rowCount >> 1 << size)
		}
	}
	return sizes
}()

const badSize = 0xff

// encoded is a row as it lies in the section.
type encoded struct {
	start uint32
	info  uint8
	words int // offset of the first word in the section
}

func (e encoded) count() int { return int(e.info & rowCount >> 1) }

// next is the offset of the row behind.
func (e encoded) next() int { return e.words + int(wordBytes[e.info]) }

// startAt reads a row's start.
func startAt(data []byte, at int, width uint8, big bool) uint32 {
	if width == 1 {
		return uint32(data[at])
	}
	return uintN(data[at:], width, big)
}

// encodedAt reads the row at an offset, which was read before.
func encodedAt(data []byte, at int, width uint8, big bool) encoded {
	words := at + int(width) + 1
	return encoded{start: startAt(data, at, width, big), info: data[words-1], words: words}
}

// rowAt reads the row of a function at an offset, which was read before.
func (t *Table) rowAt(f *function, at int) encoded {
	return encodedAt(t.section.Data, at, f.width(), t.headers[f.header].Big)
}

// firstReading reads the i-th row of a function at an offset with every check:
// its rules, and that it starts behind the row before and not behind limit.
func (t *reading) firstReading(h *Header, f *function, at int, i uint32, last int64, limit uint32) (e encoded, bad *Error) {
	reason := ""
	if h.rowsEnd-at < int(f.width())+1 {
		reason = "it runs past the rows' end"
	} else {
		e = t.rowAt(f, at)
		row := f.row(h)
		switch {
		case wordBytes[e.info] == badSize:
			reason = "the size of its words is not known"
		case e.next() > h.rowsEnd:
			reason = "its words run past the rows' end"
		default:
			reason = t.rules(h, f, e, &row)
		}
	}
	switch {
	case reason != "":
	case int64(e.start) <= last:
		reason = fmt.Sprintf("it starts at %#x, not behind the row before", e.start)
	case e.start > limit:
		reason = fmt.Sprintf("it starts at %#x, behind the code's end, %#x", e.start, limit)
	}
	if reason != "" {
		return e, t.errorf(at, fieldRow, "row %d of the function at %#x: %s", i, f.start, reason)
	}
	return e, nil
}

// words are a row's words.
type words struct {
	data []byte
	size uint8
	big  bool
}

func (t *Table) words(h *Header, e encoded) words {
	return words{t.section.Data[e.words:e.next()], 1 << (e.info & rowWordSize >> 5), h.Big}
}

func (w *words) signed(i int) int32 {
	if w.size == 1 {
		return int32(int8(w.data[i]))
	}
	return w.wide(i)
}

//go:noinline // so that signed is inlined
func (w *words) wide(i int) int32 { return intN(w.data[i*int(w.size):], w.size, w.big) }

func (w *words) unsigned(i int) uint32 { return uintN(w.data[i*int(w.size):], w.size, w.big) }

// sound holds, by the info byte, the number of bytes of words of a row by
// position if its rules make sense whatever the words are, as most do; badSize
// for others.
func (h *Header) sound() (sizes [256]uint8) {
	for info := range sizes {
		sizes[info] = badSize
		if uint8(info)&h.unsound == 0 && h.counts>>(info&rowCount>>1)&1 != 0 {
			sizes[info] = wordBytes[info]
		}
	}
	return sizes
}

// none is a sound under which all rows need a closer look.
var none = func() (sizes [256]uint8) {
	for i := range sizes {
		sizes[i] = badSize
	}
	return sizes
}()

// row holds the common parts of a function's rows.
func (f *function) row(h *Header) Row {
	return Row{arch: h.Arch, big: h.Big, Signal: f.bits&bitSignal != 0, KeyB: f.bits&bitKeyB != 0}
}

// rules decodes a row's rules into a row with the common parts; reason is not
// empty where they make no sense.
func (t *Table) rules(h *Header, f *function, e encoded, r *Row) (reason string) {
	// Most rows are of this kind: rules by position, in words of one byte.
	if e.info&(rowWordSize|rowMangled|rowManyWords) == 0 && f.bits&(bitFlexible|bitCorrected) == 0 {
		if s := &h.shapes[e.info>>1&3]; s.quick {
			data := t.section.Data[e.words:]
			r.CFA = Rule{Kind: FromRegister, Register: h.base[e.info&rowBaseSP], Offset: int32(int8(data[0]))}
			r.RA, r.FP, r.TopOnly, r.Mangled = h.ra, h.fp, s.topOnly, false
			if s.ra != 0 {
				r.RA = Rule{Kind: FromCFA, Deref: true, Offset: int32(int8(data[s.ra]))}
			}
			if s.fp != 0 {
				r.FP = Rule{Kind: FromCFA, Deref: true, Offset: int32(int8(data[s.fp]))}
			}
			return ""
		}
	}
	r.CFA, r.RA, r.FP = Rule{}, Rule{}, Rule{}
	r.Mangled, r.TopOnly = e.info&rowMangled != 0, false
	if r.Mangled && h.Arch != unwind.ARM64 {
		return "it says that the return address is signed"
	}
	if e.count() == 0 {
		if h.Version == 1 {
			return "it has no rule for the CFA"
		}
		r.RA.Kind = Undefined
		return ""
	}
	w := t.words(h, e)
	if f.bits&bitFlexible != 0 {
		reason = flexible(h, &w, e.count(), r)
	} else {
		reason = plain(h, e.info, &w, e.count(), r)
	}
	if f.bits&bitCorrected != 0 && reason == "" {
		r.CFA.Offset, r.Corrected = rightPLTGot, true
	}
	return reason
}

// s390x's CFA lies behind the area that callees save registers in.
const (
	biasS390X  = 160
	scaleS390X = 8
)

// offsetCFA is a CFA's offset of a word.
func offsetCFA(arch unwind.Arch, word int32) (offset int32, reason string) {
	if arch != unwind.S390X {
		return word, ""
	}
	wide := int64(word)*scaleS390X + biasS390X
	if int64(int32(wide)) != wide {
		return 0, "its CFA lies more than 2 GiB from the register"
	}
	return int32(wide), ""
}

// plain decodes rules by position: the CFA's, the return address's, the frame
// pointer's.
func plain(h *Header, info uint8, w *words, count int, r *Row) (reason string) {
	if count > maxWords || !h.shapes[count].ok {
		return misshapen(h, count)
	}
	shape := h.shapes[count]
	r.CFA = Rule{Kind: FromRegister, Register: h.base[info&rowBaseSP], Offset: w.signed(0)}
	r.RA, r.FP, r.TopOnly = h.ra, h.fp, shape.topOnly
	if shape.ra != 0 {
		r.RA = Rule{Kind: FromCFA, Deref: true, Offset: w.signed(int(shape.ra))}
	}
	if shape.fp != 0 {
		r.FP = Rule{Kind: FromCFA, Deref: true, Offset: w.signed(int(shape.fp))}
	}
	if h.Arch == unwind.S390X {
		return plainS390X(&shape, r)
	}
	return ""
}

// misshapen returns the reason why rows by position cannot have so many words.
func misshapen(h *Header, count int) string {
	if h.FixedRA == 0 && count == 1 {
		return "it has no rule for the return address"
	}
	return "it has more words than registers"
}

// plainS390X adapts rules by position to s390x: the CFA is biased and scaled,
// there is an empty place where only the frame pointer is saved, and an odd
// number, where all places are multiples of 8, is the register that has the
// value, doubled, plus one.
func plainS390X(shape *shape, r *Row) (reason string) {
	if r.CFA.Offset, reason = offsetCFA(unwind.S390X, r.CFA.Offset); reason != "" {
		return reason
	}
	if shape.ra != 0 && r.RA.Offset == 0 {
		r.RA = Rule{}
	}
	if shape.ra != 0 {
		reason = registerS390X(&r.RA)
	}
	if shape.fp != 0 && reason == "" {
		reason = registerS390X(&r.FP)
	}
	r.TopOnly = r.RA.Kind == Unchanged || r.RA.Kind == FromRegister || r.FP.Kind == FromRegister
	return reason
}

// registerS390X decodes an odd word to its register.
func registerS390X(rule *Rule) (reason string) {
	if rule.Kind != FromCFA || rule.Offset&1 == 0 {
		return ""
	}
	if rule.Offset < 0 || rule.Offset>>1 > maxRegister {
		return "a register's number is not known"
	}
	*rule = Rule{Kind: FromRegister, Register: unwind.Register(rule.Offset >> 1)}
	return ""
}

// flexible decodes self-describing rules: pairs of a control word and an
// offset.
func flexible(h *Header, w *words, count int, r *Row) (reason string) {
	if count < 2 {
		return "it has no whole rule for the CFA"
	}
	if r.CFA, reason = pair(w, 0); reason != "" {
		return reason
	}
	switch {
	case r.CFA.Kind != FromRegister:
		return "its CFA rests on the CFA"
	case h.Arch == unwind.S390X && r.CFA.Deref:
		return "its CFA is read from memory, which has no meaning on s390x yet"
	}
	if r.CFA.Offset, reason = offsetCFA(h.Arch, r.CFA.Offset); reason != "" {
		return reason
	}
	i := 2
	if i < count && w.unsigned(i) == 0 {
		i++ // the place of a rule that is not there
	} else if i < count {
		if i+1 == count {
			return "its rule for the return address has no offset"
		}
		if r.RA, reason = pair(w, i); reason != "" {
			return reason
		}
		i += 2
	}
	if i < count {
		if i+1 == count {
			return "its rule for the frame pointer has no offset"
		}
		if r.FP, reason = pair(w, i); reason != "" {
			return reason
		}
		i += 2
	}
	if i < count {
		return "it has more words than rules"
	}
	if r.RA.Kind == Unchanged {
		r.RA = h.ra
	}
	if r.FP.Kind == Unchanged {
		r.FP = h.fp
	}
	if r.RA.Kind == Unchanged && h.Arch.LR() == unwind.NoRegister {
		return "it has no rule for the return address"
	}
	r.TopOnly = r.RA.Kind == Unchanged || r.CFA.restsOn(r.arch) || r.RA.restsOn(r.arch) || r.FP.restsOn(r.arch)
	return ""
}

// maxRegister is the highest DWARF number that a rule can name.
const maxRegister = 127

// pair decodes a control word and the offset behind it.
func pair(w *words, i int) (r Rule, reason string) {
	control := w.unsigned(i)
	r = Rule{Kind: FromCFA, Deref: control&controlDeref != 0, Offset: w.signed(i + 1)}
	if control&controlUnused != 0 || control>>controlShift > maxRegister {
		return r, "its control word is not known"
	}
	if control&controlRegister != 0 {
		r.Kind, r.Register = FromRegister, unwind.Register(control>>controlShift)
	} else if control>>controlShift != 0 {
		return r, "its control word is not known"
	}
	return r, ""
}
