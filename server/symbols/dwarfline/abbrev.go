package dwarfline

import "debug/dwarf"

// slot is the place of an attribute among those that the package reads. Slot 0
// takes all others.
type slot uint8

const (
	_ slot = iota
	atName
	atLinkageName
	atLowPC
	atHighPC
	atRanges
	atOrigin
	atSpecification
	atSignature
	atCallFile
	atCallLine
	atCallColumn
	atStmtList
	atCompDir
	atLanguage
	atStrOffsetsBase
	atAddrBase
	atRnglistsBase
	atGNURangesBase
	atDwoName
	atDwoID
	atCallReturnPC
	atCallPC
	atCallOrigin
	atCallTailCall
	atAllCalls // or all tail calls
	atEntryPC
	atLoclistsBase
	slots
)

// Attributes that debug/dwarf has no constant for: of older or other producers.
const (
	attrMIPSLinkageName     = 0x2007
	attrGNUTailCall         = 0x2115
	attrGNUAllCallSites     = 0x2117
	attrGNUAllTailCallSites = 0x2116
	attrGNUDwoName          = 0x2130
	attrGNUDwoID            = 0x2131
	attrGNURangesBase       = 0x2132
	attrGNUAddrBase         = 0x2133
)

var slotOf = map[dwarf.Attr]slot{
	dwarf.AttrName:             atName,
	dwarf.AttrLinkageName:      atLinkageName,
	attrMIPSLinkageName:        atLinkageName,
	dwarf.AttrLowpc:            atLowPC,
	dwarf.AttrHighpc:           atHighPC,
	dwarf.AttrRanges:           atRanges,
	dwarf.AttrAbstractOrigin:   atOrigin,
	dwarf.AttrSpecification:    atSpecification,
	dwarf.AttrSignature:        atSignature,
	dwarf.AttrCallFile:         atCallFile,
	dwarf.AttrCallLine:         atCallLine,
	dwarf.AttrCallColumn:       atCallColumn,
	dwarf.AttrStmtList:         atStmtList,
	dwarf.AttrCompDir:          atCompDir,
	dwarf.AttrLanguage:         atLanguage,
	dwarf.AttrStrOffsetsBase:   atStrOffsetsBase,
	dwarf.AttrAddrBase:         atAddrBase,
	attrGNUAddrBase:            atAddrBase,
	dwarf.AttrRnglistsBase:     atRnglistsBase,
	attrGNURangesBase:          atGNURangesBase,
	dwarf.AttrDwoName:          atDwoName,
	attrGNUDwoName:             atDwoName,
	attrGNUDwoID:               atDwoID,
	dwarf.AttrCallReturnPC:     atCallReturnPC,
	dwarf.AttrCallPC:           atCallPC,
	dwarf.AttrCallOrigin:       atCallOrigin,
	dwarf.AttrCallTailCall:     atCallTailCall,
	attrGNUTailCall:            atCallTailCall,
	dwarf.AttrCallAllCalls:     atAllCalls,
	dwarf.AttrEntrypc:          atEntryPC,
	dwarf.AttrCallAllTailCalls: atAllCalls,
	attrGNUAllCallSites:        atAllCalls,
	attrGNUAllTailCallSites:    atAllCalls,
	dwarf.AttrLoclistsBase:     atLoclistsBase,
}

// abbrev is an abbreviation: the tag and attributes of entries.
type abbrev struct {
	tag      dwarf.Tag
	children bool
	fields   []field
	size     int  // of an entry's values in bytes, -1 if entries differ
	listed   bool // it has a location list, so that values are known from the first instruction on
}

type field struct {
	attr     dwarf.Attr
	slot     slot
	form     form
	layout   layout
	implicit int64 // the value, where the form says that it is here
}

// abbrevs are a unit's abbreviations: the code of the first is 1.
type abbrevs struct {
	dense  []abbrev
	sparse map[uint64]abbrev // codes out of order
	listed bool              // of one of them
}

func (t *abbrevs) find(code uint64) *abbrev {
	if i := code - 1; i < uint64(len(t.dense)) {
		return &t.dense[i]
	}
	if a, ok := t.sparse[code]; ok {
		return &a
	}
	return nil
}

// readAbbrevs reads abbreviations up to their end (DWARF 5, section 7.5.3), or to that with the code last.
func readAbbrevs(c cursor, z sizes, last uint64) (*abbrevs, error) {
	t := &abbrevs{}
	for n := 0; ; n++ {
		code := c.uleb()
		if c.err != nil {
			return nil, c.err
		}
		if code == 0 {
			return t, nil
		}
		if n == maxAbbrevs {
			c.fail("too many abbreviations")
			return nil, c.err
		}
		a := readAbbrev(&c, z)
		switch {
		case c.err != nil:
			return nil, c.err
		case code == uint64(len(t.dense))+1:
			t.dense = append(t.dense, a)
		default:
			if t.sparse == nil {
				t.sparse = make(map[uint64]abbrev)
			}
			t.sparse[code] = a
		}
		t.listed = t.listed || a.listed
		if code == last {
			return t, nil
		}
	}
}

func readAbbrev(c *cursor, z sizes) abbrev {
	a := abbrev{tag: dwarf.Tag(c.uleb()), children: c.u8() != 0}
	for {
		attr, f := c.uleb(), form(min(c.uleb(), 0xffff))
		if attr == 0 && f == 0 || c.err != nil {
			return a
		}
		if len(a.fields) == maxFields {
			c.fail("too many attributes")
			return a
		}
		name := dwarf.Attr(min(attr, 1<<31))
		one := field{attr: name, slot: slotOf[name], form: f, layout: z.layoutOf(f)}
		a.listed = a.listed || name == dwarf.AttrLocation && isList(f)
		if f == formImplicitConst {
			one.implicit = c.sleb()
		}
		a.fields = append(a.fields, one)
		switch l := one.layout; {
		case a.size < 0 || l.shape == shapeImplicit:
		case l.shape == shapeFixed:
			a.size += l.size
		default:
			a.size = -1
		}
	}
}

// entry is a debugging information entry, with the attributes that the package reads.
type entry struct {
	off   uint64 // in the section
	tag   dwarf.Tag
	attrs [slots]value
}

// skipEntry skips the values of an entry.
func (c *cursor) skipEntry(a *abbrev, z sizes) {
	if a.size >= 0 {
		c.skip(uint64(a.size))
		return
	}
	for i := range a.fields {
		c.field(z, &a.fields[i])
	}
}

// readEntry reads the values of an entry whose abbreviation begins at off.
func (c *cursor) readEntry(off uint64, a *abbrev, z sizes, into *entry) {
	*into = entry{off: off, tag: a.tag}
	for i := range a.fields {
		f := &a.fields[i]
		v := c.field(z, f)
		if f.slot != 0 {
			into.attrs[f.slot] = v
		}
	}
	into.attrs[0] = value{}
}
