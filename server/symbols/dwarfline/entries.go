package dwarfline

import (
	"debug/dwarf"
	"errors"
	"fmt"
)

// Entry is a debugging information entry with all of its attributes, for readers of
// types and variables.
type Entry struct {
	t        *Table // whose lock guards what is read
	u        *unit
	off      uint64
	tag      dwarf.Tag
	children bool
	attrs    []attribute
}

// attribute is an attribute of an entry; end is where its value ends in the section.
type attribute struct {
	name  dwarf.Attr
	value value
	end   uint64
}

// Key tells entries of a session apart.
type Key struct {
	section *section
	off     uint64
}

var errNoFunction = errors.New("no function with an entry has the address")

// FunctionAt returns the entry of the function that the instruction at addr belongs
// to, in which calls may be inlined.
func (t *Table) FunctionAt(addr uint64) (*Entry, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, f, ok := t.functionAt(addr)
	if !ok {
		return nil, errNoFunction
	}
	return t.entry(d, f.off)
}

// Units returns the first entries of the units that describe code, at most most of them: those
// of the split units where there are such.
func (t *Table) Units(most int) (out []*Entry, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listUnits(^uint64(0))
	for _, listed := range t.listed {
		if listed.kind == unitType {
			continue
		}
		had := listed.opened
		u := t.usable(listed.start)
		if u == nil {
			if !had {
				listed.forget()
			}
			continue
		}
		d, err := u.described()
		if err != nil {
			continue
		}
		if len(out) == most {
			return out, true
		}
		if e, err := t.entry(d, d.first); err == nil {
			out = append(out, e)
		}
	}
	return out, false
}

// entry reads the entry at an offset of a unit.
func (t *Table) entry(u *unit, off uint64) (*Entry, error) {
	if off < u.first || off >= u.end {
		return nil, &FormatError{u.from.info.name, off, "an entry outside its unit"}
	}
	c := u.cursor(off)
	a := u.abbrev(&c)
	if a == nil {
		if c.err == nil {
			c.fail("no entry, but the end of a list of them")
		}
		return nil, c.err
	}
	out := t.readWhole(u, &c, off, a)
	return out, c.err
}

// readWhole reads an entry whose values are next.
func (t *Table) readWhole(u *unit, c *cursor, off uint64, a *abbrev) *Entry {
	out := &Entry{t: t, u: u, off: off, tag: a.tag, children: a.children, attrs: make([]attribute, 0, len(a.fields))}
	for i := range a.fields {
		f := &a.fields[i]
		v := c.field(u.sizes, f)
		out.attrs = append(out.attrs, attribute{f.attr, v, c.off})
	}
	return out
}

// Children returns what lies directly in the entry, at most most of them.
func (e *Entry) Children(most int) (out []*Entry, more bool, err error) {
	if !e.children {
		return nil, false, nil
	}
	e.t.mu.Lock()
	defer e.t.mu.Unlock()
	err = e.u.walk(e.off, func(c *cursor, at uint64, a *abbrev, depth int) (into bool, err error) {
		if depth != 1 {
			return depth == 0, nil
		}
		if len(out) == most {
			more = true
			return false, nil
		}
		out = append(out, e.t.readWhole(e.u, c, at, a))
		return false, nil
	})
	return out, more, err
}

// Key is the same for the same entry.
func (e *Entry) Key() Key { return Key{e.u.from.info, e.off} }

// Tag is the entry's tag.
func (e *Entry) Tag() dwarf.Tag { return e.tag }

// String names the entry, for messages.
func (e *Entry) String() string { return fmt.Sprintf("%s+%#x", e.u.from.info.name, e.off) }

// Sizes of the unit: DWARF's version, the bytes of an address and of an offset.
func (e *Entry) Sizes() (version, address, offset int) {
	return e.u.version, e.u.address, e.u.offset
}

// Language is the unit's DW_LANG code, 0 if it has none.
func (e *Entry) Language() uint64 {
	root := e.u.root
	if k := e.u.skeleton; k != nil && root.attrs[atLanguage].absent() {
		root = k.root
	}
	n, _ := root.attrs[atLanguage].constant()
	return n
}

func (e *Entry) value(a dwarf.Attr) (at attribute, ok bool) {
	for i := range e.attrs {
		if e.attrs[i].name == a {
			return e.attrs[i], true
		}
	}
	return at, false
}

// Has says whether the entry has the attribute.
func (e *Entry) Has(a dwarf.Attr) bool {
	_, ok := e.value(a)
	return ok
}

// Flag returns a flag's value.
func (e *Entry) Flag(a dwarf.Attr) bool {
	v, ok := e.value(a)
	return ok && v.value.n != 0
}

// Constant is a number as the file holds it: Size bytes, of which Signed says that they
// are a signed number; of others the attribute or the type says it.
type Constant struct {
	Value  uint64 // sign-extended where Signed
	Size   int    // 0: of no fixed size
	Signed bool
}

// Int is the number. One of a fixed size has no sign: sizes, counts and bounds of up to 2^32 come so, and what is negative comes
// as DW_FORM_sdata (DWARF 5, section 7.5.5: the attribute's meaning tells). Those of 8 bytes are as they are.
func (c Constant) Int() int64 { return int64(c.Value) }

// Constant returns an attribute that is a number.
func (e *Entry) Constant(a dwarf.Attr) (c Constant, ok bool) {
	v, ok := e.value(a)
	if !ok {
		return c, false
	}
	c.Value = v.value.n
	switch v.value.form {
	case formData1:
		c.Size = 1
	case formData2:
		c.Size = 2
	case formData4:
		c.Size = 4
	case formData8:
		c.Size = 8
	case formUdata:
	case formSdata, formImplicitConst:
		c.Signed = true
	default:
		return c, false
	}
	return c, true
}

// Text returns an attribute that is a string, "" if there is none.
func (e *Entry) Text(a dwarf.Attr) string {
	v, ok := e.value(a)
	if !ok {
		return ""
	}
	e.t.mu.Lock()
	defer e.t.mu.Unlock()
	text, err := e.u.text(v.value)
	if err != nil {
		e.t.problem(e.u, err)
	}
	return text
}

// Address returns an attribute that is an address.
func (e *Entry) Address(a dwarf.Attr) (uint64, bool) {
	v, ok := e.value(a)
	if !ok || !v.value.isAddress() {
		return 0, false
	}
	e.t.mu.Lock()
	defer e.t.mu.Unlock()
	addr, err := e.u.addressOf(v.value)
	return addr, err == nil
}

// AddressAt returns an address of the unit by its index.
func (e *Entry) AddressAt(i uint64) (uint64, error) {
	e.t.mu.Lock()
	defer e.t.mu.Unlock()
	return e.u.addressAt(i)
}

// Block returns an attribute that is a block or an expression, which must not be changed.
func (e *Entry) Block(a dwarf.Attr) (data []byte, ok bool, err error) {
	v, ok := e.value(a)
	if !ok {
		return nil, false, nil
	}
	from := v.value.n
	switch v.value.form {
	case formBlock, formBlock1, formBlock2, formBlock4, formExprloc, formData16:
	default:
		return nil, false, nil
	}
	e.t.mu.Lock()
	defer e.t.mu.Unlock()
	if err := e.u.from.info.need(from, v.end); err != nil {
		return nil, true, err
	}
	return e.u.from.info.data[from:v.end:v.end], true, nil
}

// Refers returns the entry that an attribute refers to, nil if there is no such attribute.
func (e *Entry) Refers(a dwarf.Attr) (*Entry, error) {
	v, ok := e.value(a)
	if !ok {
		return nil, nil
	}
	e.t.mu.Lock()
	defer e.t.mu.Unlock()
	u, off, err := e.u.follow(v.value)
	if err != nil {
		return nil, err
	}
	return e.t.entry(u, off)
}

// InUnit returns the entry at an offset that counts from the unit's start, as expressions have
// those of types.
func (e *Entry) InUnit(off uint64) (*Entry, error) {
	e.t.mu.Lock()
	defer e.t.mu.Unlock()
	if off >= e.u.end-e.u.start {
		return nil, &FormatError{e.u.from.info.name, e.u.start, "a reference out of the unit"}
	}
	return e.t.entry(e.u, e.u.start+off)
}

// InSection returns the entry at an offset in the section, as expressions refer to entries of any
// unit.
func (e *Entry) InSection(off uint64) (*Entry, error) {
	e.t.mu.Lock()
	defer e.t.mu.Unlock()
	u, at, err := e.u.follow(value{form: formRefAddr, n: off})
	if err != nil {
		return nil, err
	}
	return e.t.entry(u, at)
}

// Unit returns the first entry of the unit.
func (e *Entry) Unit() (*Entry, error) {
	e.t.mu.Lock()
	defer e.t.mu.Unlock()
	return e.t.entry(e.u, e.u.first)
}

// Scope returns what stands before the entry's name: "std::". It is "" in languages without
// scopes.
func (e *Entry) Scope() string {
	e.t.mu.Lock()
	defer e.t.mu.Unlock()
	q := qualifier{e.u}
	separator := q.separator()
	if separator == "" {
		return ""
	}
	prefix, err := q.prefix(e.off, separator, maxScopes)
	if err != nil {
		e.t.problem(e.u, err)
		return ""
	}
	return prefix
}

// Covers says whether the entry's code has an address; known is false where the entry says
// nothing of addresses.
func (e *Entry) Covers(addr uint64) (covers, known bool, err error) {
	low, ranges := e.Has(dwarf.AttrLowpc), e.Has(dwarf.AttrRanges)
	if !low && !ranges {
		return false, false, nil
	}
	e.t.mu.Lock()
	defer e.t.mu.Unlock()
	before := e.t.rangesRead
	defer func() { e.t.rangesRead = before }() // it may be asked again and again
	one, _, err := e.u.entryAt(e.off)
	if err != nil {
		return false, true, err
	}
	err = e.u.ranges(&one, func(from, to uint64) { covers = covers || from <= addr && addr < to })
	return covers, true, err
}

// Begin is the address of the first instruction of the entry's code.
func (e *Entry) Begin() (uint64, bool) {
	e.t.mu.Lock()
	defer e.t.mu.Unlock()
	one, _, err := e.u.entryAt(e.off)
	if err != nil {
		return 0, false
	}
	return beginOf(e.u, &one)
}
