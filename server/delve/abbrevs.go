package delve

import (
	"encoding/binary"
	"math"
	"slices"
)

// abbrev describes entries of one kind (DWARF 5, section 7.5.3).
type abbrev struct {
	tag      uint64
	children bool
	fields   []field
	size     uint64 // of an entry behind its code, varies if that varies or values are needed
}

const varies = math.MaxUint64

type field struct{ attr, form uint64 }

// abbrevs reads tables of them, each once.
type abbrevs struct {
	text   []byte // .debug_abbrev
	order  binary.ByteOrder
	tables map[uint64][]abbrev
	others map[uint64]map[uint64]abbrev // codes that are not the next one
	read   int                          // bytes
	// unknown says that there was a form that debug/dwarf does not know.
	unknown bool
}

// lookup returns the abbreviation of a code in the table at an offset.
func (a *abbrevs) lookup(table, code uint64) (*abbrev, bool) {
	if list := a.tables[table]; code-1 < uint64(len(list)) {
		return &list[code-1], true
	}
	other, ok := a.others[table][code]
	return &other, ok
}

// load reads the table at an offset. Tables that overlap are read as often as they do, which a file may make cost
// too much.
func (a *abbrevs) load(table uint64) bool {
	if _, known := a.tables[table]; known {
		return true
	}
	if table > uint64(len(a.text)) {
		return false
	}
	d := die{data: a.text[table:], order: a.order}
	list, others := []abbrev{}, map[uint64]abbrev{}
	for {
		code := d.leb() & math.MaxUint32 // as debug/dwarf has it
		if code == 0 {
			break
		}
		one := d.abbrev()
		if a.unknown = a.unknown || slices.ContainsFunc(one.fields, isUnknown); a.unknown || d.bad {
			return false
		}
		if code == uint64(len(list))+1 {
			list = append(list, one)
		} else {
			others[code] = one
		}
	}
	a.read += len(a.text) - int(table) - len(d.data)
	a.tables[table], a.others[table] = list, others
	return !d.bad && a.read <= 2*len(a.text)
}

// abbrev reads one behind its code.
func (d *die) abbrev() abbrev {
	one := abbrev{tag: d.leb(), children: d.number(1) != 0}
	for {
		f := field{d.leb(), d.leb()}
		if d.bad || f == (field{}) {
			break
		}
		if f.form == formImplicitConst {
			d.leb()
			if f.attr == attrStmtList { // no compiler does
				d.fail()
			}
		}
		one.fields = append(one.fields, f)
		size, fixed := fixedSize(f)
		if one.size != varies && fixed {
			one.size += size
		} else {
			one.size = varies
		}
	}
	return one
}

// isUnknown says that debug/dwarf does not know the form.
func isUnknown(f field) bool {
	const refAlt, strpAlt = 0x1f20, 0x1f21 // of dwz
	return f.form == 0 || f.form == 2 || f.form > 0x2c && f.form != refAlt && f.form != strpAlt
}

// fixedSize is how long a value is, where every one of its form is as long and need not be looked at.
func fixedSize(f field) (uint64, bool) {
	switch f.attr {
	case attrSibling, attrStmtList, attrImport, attrRanges, attrName:
		return 0, false
	}
	if refers(f.attr) {
		return 0, false
	}
	switch f.form {
	case 0x19, formImplicitConst: // flag_present
		return 0, true
	case 0x0b, 0x0c, 0x29, 0x11: // data1, flag, addrx1, ref1
		return 1, true
	case 0x05, 0x2a, 0x12: // data2, addrx2, ref2
		return 2, true
	case 0x2b: // addrx3
		return 3, true
	case 0x06, 0x2c, 0x13, 0x1c: // data4, addrx4, ref4, ref_sup4
		return 4, true
	case 0x07, 0x14, 0x20, 0x24: // data8, ref8, ref_sig8, ref_sup8
		return 8, true
	case 0x1e: // data16
		return 16, true
	}
	return 0, false
}

// die reads entries of debugging information. After an error all that is read is 0.
type die struct {
	data  []byte // what is left of the unit
	order binary.ByteOrder
	unit  unit
	bad   bool
}

// unit is what the header of a unit says.
type unit struct {
	version, table uint64
	offset, addr   int // sizes of an offset and of an address, in bytes
}

func (d *die) fail() { d.data, d.bad = nil, true }

func (d *die) skip(n uint64) {
	if n > uint64(len(d.data)) {
		d.fail()
		return
	}
	d.data = d.data[n:]
}

func (d *die) number(size int) (v uint64) {
	if len(d.data) < size {
		d.fail()
		return 0
	}
	switch size {
	case 1:
		v = uint64(d.data[0])
	case 2:
		v = uint64(d.order.Uint16(d.data))
	case 4:
		v = uint64(d.order.Uint32(d.data))
	case 8:
		v = d.order.Uint64(d.data)
	default: // no size of an address
		d.fail()
		return 0
	}
	d.data = d.data[size:]
	return v
}

// leb reads a LEB128 number, of any length. One without an end would have debug/dwarf return the same
// entry for ever.
func (d *die) leb() (v uint64) {
	for i, b := range d.data {
		v |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			d.data = d.data[i+1:]
			return v
		}
	}
	d.fail()
	return 0
}
