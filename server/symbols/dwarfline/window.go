package dwarfline

import (
	"io"
	"slices"
)

// reader reads a section in windows from its begin to its end, and keeps nothing of it: a
// search looks at all of what a file has, and finds little.
type reader struct {
	s    *section
	from uint64 // where buf lies in the section
	buf  []byte

	stream io.Reader // of a section that is compressed
	at     uint64    // in the stream
}

// window returns the part from, to (without to) of the section. It holds until the next call,
// which must not begin before this one does.
func (r *reader) window(from, to uint64) (*section, error) {
	s := r.s
	switch {
	case s == nil:
		return nil, errAbsent
	case s.err != nil:
		return nil, s.err
	case from > to || to > s.size():
		return nil, &FormatError{s.name, from, "outside the section"}
	}
	w := &section{name: s.name, start: from, whole: s.size()}
	if s.at == nil && to <= s.filled {
		w.data = s.data[from:to]
		return w, nil
	}
	kept := 0
	if from >= r.from && from-r.from < uint64(len(r.buf)) {
		kept = copy(r.buf, r.buf[from-r.from:])
	}
	r.from = from
	if n := int(to - from); n > kept {
		r.buf = slices.Grow(r.buf[:kept], n-kept)[:n]
		if err := r.fill(r.buf[kept:], from+uint64(kept)); err != nil {
			return nil, err
		}
	} else {
		r.buf = r.buf[:kept]
	}
	w.data = r.buf[:to-from]
	return w, nil
}

// fill reads what lies at an offset of the section.
func (r *reader) fill(into []byte, off uint64) (err error) {
	if r.s.at != nil {
		if n, err := r.s.at.ReadAt(into, int64(off)); n < len(into) {
			return r.s.fail(err)
		}
		return nil
	}
	if r.stream == nil || off < r.at {
		if r.stream, err = r.s.again(); err != nil {
			return r.s.fail(err)
		}
		r.at = 0
	}
	if _, err := io.CopyN(io.Discard, r.stream, int64(off-r.at)); err != nil {
		return r.s.fail(err)
	}
	n, err := io.ReadFull(r.stream, into)
	r.at = off + uint64(n)
	if n < len(into) {
		return r.s.fail(err)
	}
	return nil
}

// head is what a search must know of a unit before it reads the unit.
type head struct {
	start, end uint64
	sizes      sizes
	lines      uint64 // where its line table is
	hasLines   bool
	compDir    string
	skeleton   bool // of a split unit
	code       bool // the unit says where its code is
	strOffsets uint64
	indexed    bool // names may be indexes: strOffsets is where those of the unit begin
}

// headSize is how much is read of a unit for its head; more where that does not do.
const headSize = 1 << 10

// readHeads reads the heads of all units with code that is not Go's, or with parts of such units, once.
func (t *Table) readHeads() []head {
	if t.headsRead {
		return t.heads
	}
	t.headsRead = true
	own := t.ownSections()
	r := reader{s: own.info}
	dirs := make(map[string]string)
	for off := uint64(0); off < own.info.size(); {
		u, err := t.window(&r, off, headSize)
		if err == nil && u.err == nil && u.kind != unitType && u.kind != unitSplitType {
			if u.open() != nil && u.end-off > headSize {
				u, err = t.window(&r, off, u.end-off)
			}
		}
		if err != nil {
			t.problem(nil, err)
			break
		}
		off = u.end
		if u.kind == unitType || u.kind == unitSplitType {
			continue
		}
		if err := u.open(); err != nil {
			t.problem(u, err)
			continue
		}
		if len(t.heads) == maxUnits {
			t.problem(nil, &SectionError{own.info.name, errTooManyUnits})
			break
		}
		if h, ok := u.head(dirs); ok {
			t.heads = append(t.heads, h)
		}
	}
	return t.heads
}

// window returns the unit at an offset, of which size bytes are there. It is good until the next.
func (t *Table) window(r *reader, off, size uint64) (*unit, error) {
	w, err := r.window(off, off+min(size, r.s.size()-off))
	if err != nil {
		return nil, err
	}
	in := *t.ownSections()
	in.info = w
	u, err := t.readUnit(&in, off)
	if err == nil {
		u.brief = true
	}
	return u, err
}

// head returns the unit's head; dirs are folders that are known already.
func (u *unit) head(dirs map[string]string) (h head, ok bool) {
	if language, _ := u.root.attrs[atLanguage].constant(); language == languageGo {
		return h, false
	}
	h = head{start: u.start, end: u.end, sizes: u.sizes}
	h.lines, h.hasLines = u.root.attrs[atStmtList].offset()
	h.skeleton = !u.root.attrs[atDwoName].absent()
	h.code = !u.root.attrs[atLowPC].absent() || !u.root.attrs[atRanges].absent()
	h.strOffsets, h.indexed = u.root.attrs[atStrOffsetsBase].offset()
	dir := u.compDir()
	if dirs[dir] == "" {
		dirs[dir] = dir
	}
	h.compDir = dirs[dir]
	return h, true
}

// unit returns a unit of which no more is known than the head, enough to read its line table.
func (h *head) unit(t *Table) *unit {
	u := &unit{t: t, start: h.start, end: h.end, sizes: h.sizes, from: t.ownSections(), strOffsetsBase: h.strOffsets, dir: h.compDir}
	u.root = &entry{}
	u.root.attrs[atStmtList] = value{formSecOffset, h.lines}
	return u
}
