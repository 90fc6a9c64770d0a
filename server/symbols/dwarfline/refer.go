package dwarfline

import (
	"errors"
	"fmt"
	"sort"
)

var (
	errHops       = fmt.Errorf("more than %d references from an entry to its name, or a cycle of them", maxHops)
	errScopes     = fmt.Errorf("more than %d scopes around a name, or a cycle of them", maxScopes)
	errNoString   = errors.New("a name that is no string")
	errNoAddress  = errors.New("an address that is none")
	errNoRef      = errors.New("a reference that is none")
	errNoAltFile  = errors.New("the alternate file with common entries is not there")
	errNestedAlt  = errors.New("a reference from an alternate file to another")
	errTypeUnit   = errors.New("a type whose unit is not there")
	errRefNowhere = errors.New("a reference to no unit")
)

// text returns a value that is a string.
func (u *unit) text(v value) (string, error) {
	if i, ok := v.stringIndex(); ok {
		at, err := u.indexed(u.from.strOffsets, u.strOffsetsBase, i, u.offset)
		if err != nil {
			return "", err
		}
		return u.from.str.text(at)
	}
	switch v.form {
	case formString:
		return u.from.info.text(v.n)
	case formStrp:
		return u.from.str.text(v.n)
	case formLineStrp:
		return u.from.lineStr.text(v.n)
	case formGNUStrpAlt, formStrpSup:
		alt, err := u.t.alternateFile()
		if err != nil {
			return "", err
		}
		return alt.section(".debug_str").text(v.n)
	}
	return "", errNoString
}

// indexed returns a number of a table of numbers.
func (u *unit) indexed(s *section, base, i uint64, size int) (uint64, error) {
	if n := s.size(); base > n || i >= (n-base)/uint64(size) {
		return 0, &FormatError{nameOf(s), base, fmt.Sprintf("index %d is outside the section", i)}
	}
	at := base + i*uint64(size)
	c := cursorAt(s, u.t.order, at, at+uint64(size))
	n := c.uint(size)
	return n, c.err
}

func nameOf(s *section) string {
	if s == nil {
		return "a section that is not there"
	}
	return s.name
}

// addressOf returns a value that is an address.
func (u *unit) addressOf(v value) (uint64, error) {
	if i, ok := v.addressIndex(); ok {
		return u.addressAt(i)
	}
	if v.form != formAddr {
		return 0, errNoAddress
	}
	return v.n, nil
}

// addressAt returns an address by its index.
func (u *unit) addressAt(i uint64) (uint64, error) {
	return u.indexed(u.from.addr, u.addrBase, i, u.address)
}

// follow returns the entry that a value refers to, and its unit.
func (u *unit) follow(v value) (*unit, uint64, error) {
	switch v.form {
	case formRef1, formRef2, formRef4, formRef8, formRefUdata:
		if v.n >= u.end-u.start {
			return nil, 0, &FormatError{u.from.info.name, u.start, "a reference out of the unit"}
		}
		return u, u.start + v.n, nil
	case formRefAddr:
		if v.n >= u.start && v.n < u.end {
			return u, v.n, nil
		}
		if u.isSplit() {
			return u.skeleton.split.follow(u.from.infoAt, v.n)
		}
		to, err := u.t.unitWith(v.n)
		return to, v.n, err
	case formGNURefAlt, formRefSup4, formRefSup8:
		alt, err := u.t.alternateFile()
		if err != nil {
			return nil, 0, err
		}
		to, err := alt.unitWith(v.n)
		return to, v.n, err
	case formRefSig8:
		return u.typeUnit(v.n)
	}
	return nil, 0, errNoRef
}

// unitWith returns the unit with an entry at an offset in .debug_info.
func (t *Table) unitWith(off uint64) (*unit, error) {
	t.listUnits(off)
	return unitWith(t.listed, off)
}

// unitWith returns the unit with an entry at an offset, of units in their order.
func unitWith(all []*unit, off uint64) (*unit, error) {
	i := sort.Search(len(all), func(i int) bool { return all[i].end > off })
	if i == len(all) || off < all[i].first {
		return nil, errRefNowhere
	}
	return all[i], all[i].open()
}

// alternateFile returns the table of the file that dwz has moved common entries to.
func (t *Table) alternateFile() (*Table, error) {
	if t.altOpened {
		return t.alternate, t.altErr
	}
	t.altOpened = true
	t.altErr = errNoAltFile
	if t.src.Alternate == nil {
		return nil, t.altErr
	}
	src, err := t.src.Alternate()
	switch {
	case err != nil:
		t.altErr = fmt.Errorf("%w: %w", errNoAltFile, err)
	case src != nil:
		only := *src
		only.Alternate = func() (*Source, error) { return nil, errNestedAlt }
		t.alternate, t.altErr = newTable(&only, t.budget), nil
	}
	return t.alternate, t.altErr
}
