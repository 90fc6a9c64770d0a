package sframe

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// reading makes a table of a section: it reads all of it once, with every check.
type reading struct {
	*Table
	opts Options
}

// New reads a section. It has one table as a rule, none if it is empty, and
// several in a row where a linker did not merge its inputs'.
func New(s Section, opts Options) *Table {
	t := reading{&Table{section: s}, opts}
	if uint64(len(s.Data)) > math.MaxUint32 {
		t.section.Data = nil
		t.problems.add(t.errorf(0, "section", "it has 4 GiB or more"))
		return t.Table
	}
	if uint64(len(s.Data)) > math.MaxUint64-s.Addr {
		t.section.Data = nil
		t.problems.add(t.errorf(0, "section", "at %#x it runs past the address space", s.Addr))
		return t.Table
	}
	t.readHeaders()
	t.readFunctions()
	return t.Table
}

func (t *reading) errorf(offset int, field, format string, args ...any) *Error {
	return &Error{Section: t.section.Name, Field: field, Offset: uint64(offset), Reason: fmt.Sprintf(format, args...)}
}

// maxTables bounds the tables of one section: one of each object file.
const maxTables = math.MaxUint16

// readHeaders finds the tables. Only the first says where the next one is.
func (t *reading) readHeaders() {
	data := t.section.Data
	for at := 0; ; {
		for at < len(data) && data[at] == 0 {
			at++ // segments end in zeros, and so do input sections
		}
		if _, ok := isMagic(data[at:]); at == len(data) || len(t.headers) > 0 && !ok && t.opts.OpenEnded {
			break
		}
		h, bad := t.header(at)
		if bad == nil && len(t.headers) == maxTables {
			bad = t.errorf(at, "sframe_header", "there are more than %d tables", maxTables)
		}
		if bad != nil {
			if len(t.headers) == 0 || !t.opts.OpenEnded {
				t.problems.add(bad)
			}
			break
		}
		t.headers = append(t.headers, h)
		at = max(h.functions, h.rowsEnd)
	}
	if len(t.headers) < 2 {
		return
	}
	// A linker that puts tables in a row has not made their functions' starts
	// relative to anything but their place in the assembler's output.
	kept := t.headers[:0]
	for _, h := range t.headers {
		if h.Flags&FlagPCRelative == 0 {
			t.problems.add(t.errorf(int(h.Offset)+3, "sfp_flags", "one of several tables in a row does not say what its functions' starts are relative to"))
			continue
		}
		kept = append(kept, h)
	}
	t.headers = kept
}

// readFunctions reads all functions and rows, and indexes the usable ones.
func (t *reading) readFunctions() {
	functions, rows := 0, 0
	for i := range t.headers {
		h := &t.headers[i]
		if bad := t.counts(h); bad != nil {
			t.problems.add(bad)
			h.Functions = 0
			continue
		}
		functions += int(h.Functions)
		rows += int(h.Rows)
	}
	if functions == 0 {
		return
	}
	t.index, t.marks = make([]function, 0, functions), make([]mark, 0, rows/markEvery)
	for i := range t.headers {
		h := &t.headers[i]
		if bad := t.unmerged(h); bad != nil {
			t.problems.add(bad)
			continue
		}
		sound := h.sound()
		for k := range int(h.Functions) {
			f, bad := t.function(h, uint16(i), k)
			f.marks = uint32(len(t.marks))
			if bad == nil && f.size > 0 {
				bad = t.verify(h, &f, &sound)
			}
			switch {
			case bad != nil:
				t.marks = t.marks[:f.marks]
				t.problems.add(bad)
			case f.size > 0: // else the linker has dropped its code
				t.index = append(t.index, f)
			}
		}
	}
	t.sort()
}

// counts checks that the functions' rows are as many as the header says: then
// reading all of them takes time in proportion to the section's size.
func (t *reading) counts(h *Header) *Error {
	var rows uint64
	unknown := false
	for i := range int(h.Functions) {
		n, known := t.count(h, i)
		rows += uint64(n)
		unknown = unknown || !known
	}
	if rows > uint64(h.Rows) {
		return t.errorf(int(h.Offset)+12, "sfh_num_fres", "there are %d rows, functions have %d", h.Rows, rows)
	}
	if rows < uint64(h.Rows) && !unknown {
		t.problems.add(t.errorf(int(h.Offset)+12, "sfh_num_fres", "there are %d rows, functions have only %d", h.Rows, rows))
	}
	return nil
}

// verify checks a function's place and decodes all of its rows.
func (t *reading) verify(h *Header, f *function, sound *[256]uint8) *Error {
	if len(t.opts.Code) > 0 {
		if code, ok := t.opts.Code.Find(f.start); !ok || f.end() > code.End {
			return t.errorf(int(f.entry), fieldStart[h.names()], "[%#x, %#x) lies outside the program's code", f.start, f.end())
		}
	}
	limit := f.size
	if f.block != 0 {
		limit = uint32(f.block)
	}
	if f.bits&bitFlexible != 0 {
		sound = &none
	}
	data, width, big := t.section.Data[:h.rowsEnd], f.width(), h.Big
	at, last := int(f.rows), int64(-1)
	marks := t.marks
	for i := range f.count {
		infoAt := at + int(width)
		if infoAt < len(data) {
			start, info := startAt(data, at, width, big), data[infoAt]
			next := infoAt + 1 + int(sound[info])
			if sound[info] != badSize && next <= len(data) && int64(start) > last && start <= limit {
				if i%markEvery == 0 && i > 0 {
					marks = append(marks, mark{start: start, at: uint32(at)})
				}
				at, last = next, int64(start)
				continue
			}
		}
		// It is not as most are, or not right.
		e, bad := t.firstReading(h, f, at, i, last, limit)
		if bad != nil {
			return bad
		}
		if i%markEvery == 0 && i > 0 {
			marks = append(marks, mark{start: e.start, at: uint32(at)})
		}
		at, last = e.next(), int64(e.start)
	}
	t.marks = marks
	if f.count > 0 {
		t.markDoubtful(h, f)
		if e := t.rowAt(f, int(f.rows)); e.start >= limit {
			return t.errorf(int(f.rows), fieldRow, "the first row of the function at %#x starts at %#x, behind the code's end, %#x", f.start, e.start, limit)
		}
	}
	switch {
	case t.opts.Verbatim:
		return nil
	case t.isPLTGot(h, f):
		return t.correctPLTGot(f)
	}
	return t.checkPLT(h, f)
}

// sort sorts the functions, and leaves out those that claim the same code: at
// least one of them is wrong.
func (t *reading) sort() {
	sorted := true
	for i := 1; i < len(t.index) && sorted; i++ {
		sorted = t.index[i-1].start < t.index[i].start
	}
	if !sorted {
		slices.SortFunc(t.index, func(a, b function) int {
			return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.entry, b.entry))
		})
	}
	kept := t.index[:0]
	for i := 0; i < len(t.index); {
		end, k := t.index[i].end(), i+1
		for k < len(t.index) && t.index[k].start < end {
			end = max(end, t.index[k].end())
			k++
		}
		if k == i+1 || t.same(t.index[i:k]) {
			kept = append(kept, t.index[i])
		} else {
			f, g := &t.index[i], &t.index[i+1]
			t.problems.add(t.errorf(int(g.entry), fieldStart[t.headers[g.header].names()],
				"[%#x, %#x) overlaps [%#x, %#x): %d functions here are not used", g.start, g.end(), f.start, f.end(), k-i))
		}
		i = k
	}
	t.index = kept
	t.search = newSearch(kept)
}

// same reports whether functions are one: of the same code with the same rows, as
// a linker that folds identical code leaves them.
func (t *reading) same(fs []function) bool {
	first := fs[0]
	for _, f := range fs[1:] {
		if f.start != first.start || f.size != first.size || f.count != first.count || f.bits != first.bits || f.block != first.block ||
			!slices.Equal(t.rowBytes(&f), t.rowBytes(&first)) {
			return false
		}
	}
	return true
}

// rowBytes are the bytes of a verified function's rows.
func (t *reading) rowBytes(f *function) []byte {
	at := int(f.rows)
	for range f.count {
		at = t.rowAt(f, at).next()
	}
	return t.section.Data[f.rows:at]
}
