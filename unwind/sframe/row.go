package sframe

import "github.com/clewdbg/clew/unwind"

// Bits of a row's info byte.
const (
	rowBaseSP    = 0x01
	rowCount     = 0x1e
	rowWordSize  = 0x60
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

// wordBytes is how many bytes of words a row has, by its info byte; badSize where
// the size of its words is not known.
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
	next  int // offset of the next row
}

func (e *encoded) count() int { return int(e.info & rowCount >> 1) }

// startAt reads a row's start.
func startAt(data []byte, at int, width uint8, big bool) uint32 {
	if width == 1 {
		return uint32(data[at])
	}
	return uintN(data[at:], width, big)
}

// encodedAt reads the row at an offset, which was read before.
func (t *Table) encodedAt(h *Header, f *function, at int) encoded {
	data, words := t.section.Data, at+int(f.width)+1
	info := data[words-1]
	return encoded{start: startAt(data, at, f.width, h.Big), info: info, words: words, next: words + int(wordBytes[info])}
}

// firstReading reads the row at an offset; reason is not empty where there is
// none.
func (t *Table) firstReading(h *Header, f *function, at int) (e encoded, reason string) {
	if h.rowsEnd-at < int(f.width)+1 {
		return e, "it runs past the rows' end"
	}
	e = t.encodedAt(h, f, at)
	switch {
	case wordBytes[e.info] == badSize:
		return e, "the size of its words is not known"
	case e.next > h.rowsEnd:
		return e, "its words run past the rows' end"
	}
	return e, ""
}

// words are a row's words.
type words struct {
	data []byte
	size uint8
	big  bool
}

func (t *Table) words(h *Header, e *encoded) words {
	return words{t.section.Data[e.words:e.next], 1 << (e.info & rowWordSize >> 5), h.Big}
}

func (w *words) signed(i int) int64 {
	if w.size == 1 {
		return int64(int8(w.data[i]))
	}
	return w.wide(i)
}

//go:noinline // so that signed is inlined
func (w *words) wide(i int) int64 { return intN(w.data[i*int(w.size):], w.size, w.big) }

func (w *words) unsigned(i int) uint32 { return uintN(w.data[i*int(w.size):], w.size, w.big) }

// sound says that a row's rules make sense without decoding them: most do.
func (h *Header) sound(f *function, info uint8) bool {
	return f.bits&bitFlexible == 0 && info&h.unsound == 0 && h.counts>>(info&rowCount>>1)&1 != 0 && wordBytes[info] != badSize
}

// row is what all rows of a function have.
func (f *function) row(h *Header) Row {
	return Row{arch: h.Arch, big: h.Big, Signal: f.bits&bitSignal != 0, KeyB: f.bits&bitKeyB != 0}
}

// rules decodes a row's rules into one that has what all have; reason is not empty
// where they make no sense.
func (t *Table) rules(h *Header, f *function, e *encoded, r *Row) (reason string) {
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
func offsetCFA(arch unwind.Arch, word int64) int64 {
	if arch == unwind.S390X {
		return word*scaleS390X + biasS390X
	}
	return word
}

// plain decodes rules by position: the CFA's, the return address's, the frame
// pointer's.
func plain(h *Header, info uint8, w *words, count int, r *Row) (reason string) {
	base := h.fp
	if info&rowBaseSP != 0 {
		base = h.sp
	}
	r.CFA = Rule{Kind: FromRegister, Register: base, Offset: offsetCFA(h.Arch, w.signed(0))}
	i := 1
	switch {
	case h.FixedRA != 0:
		r.RA = Rule{Kind: FromCFA, Deref: true, Offset: int64(h.FixedRA)}
	case i < count:
		// s390x has an empty place where only the frame pointer is saved.
		if word := w.signed(i); word != 0 || h.Arch != unwind.S390X {
			r.RA = slot(h, word)
		}
		i++
	}
	switch {
	case h.FixedFP != 0:
		r.FP = Rule{Kind: FromCFA, Deref: true, Offset: int64(h.FixedFP)}
	case i < count:
		r.FP = slot(h, w.signed(i))
		i++
	case h.Arch == unwind.ARM64 && i == 2:
		// The specification takes the second word for the frame pointer's, its
		// library for the return address's. No assembler writes it.
		return "its second word may be either register's"
	}
	switch {
	case i < count:
		return "it has more words than registers"
	case r.RA.Kind == Unchanged && h.Arch.LR() == unwind.NoRegister:
		return "it has no rule for the return address"
	}
	r.TopOnly = r.RA.Kind == Unchanged || r.RA.Kind == FromRegister || r.FP.Kind == FromRegister
	return ""
}

// slot is the rule of a word for a saved register: where it lies relative to the
// CFA, or on s390x, where all such places are multiples of 8, an odd number: the
// register that has it, doubled, plus one.
func slot(h *Header, word int64) Rule {
	if h.Arch == unwind.S390X && word&1 != 0 {
		return Rule{Kind: FromRegister, Register: unwind.Register(uint16(word >> 1))}
	}
	return Rule{Kind: FromCFA, Deref: true, Offset: word}
}

// flexible decodes rules that say what they are: pairs of a control word and an
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
	r.CFA.Offset = offsetCFA(h.Arch, r.CFA.Offset)
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
	if r.RA.Kind == Unchanged && h.FixedRA != 0 {
		r.RA = Rule{Kind: FromCFA, Deref: true, Offset: int64(h.FixedRA)}
	}
	if r.FP.Kind == Unchanged && h.FixedFP != 0 {
		r.FP = Rule{Kind: FromCFA, Deref: true, Offset: int64(h.FixedFP)}
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
