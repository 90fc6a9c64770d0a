package delve

import "bytes"

// The forms of values in .debug_info (DWARF 5, section 7.5.6).

// target is the offset that a reference means.
func (c *infoCheck) target(form, v uint64) uint64 {
	if form == formRefAddr {
		return v
	}
	return v + c.base
}

// class is what a value is taken for.
type class int

const (
	unknownForm class = iota
	otherClass
	constant
	reference
	list // its offset
)

// value reads a value. What it is matters only for references and constants.
func (c *infoCheck) value(form uint64) (uint64, class) {
	switch form {
	case 0x11, 0x12, 0x13, 0x14: // ref1, ref2, ref4, ref8
		return c.number(1 << (form - 0x11)), reference
	case 0x15: // ref_udata
		return c.leb(), reference
	case formRefAddr:
		if c.unit.version == 2 {
			return c.number(c.unit.addr), reference
		}
		return c.number(c.unit.offset), reference
	case 0x17: // sec_offset
		return c.number(c.unit.offset), constant
	case 0x05, 0x06, 0x07: // data2, data4, data8
		return c.number(2 << (form - 0x05)), constant
	case 0x0b: // data1
		return c.number(1), constant
	case 0x0d, 0x0f: // sdata, udata
		return c.leb(), constant
	case 0x23: // rnglistx
		v, _ := c.reads.entry(c.reads.lists, c.reads.base.lists, c.leb(), c.unit.offset)
		return c.reads.base.lists + v, list
	}
	return 0, c.skipValue(form)
}

// name counts the text that a value names, and says whether it names any.
func (c *infoCheck) name(form uint64) bool {
	switch form {
	case 0x0e: // strp
		c.reads.text(c.number(c.unit.offset))
	case 0x1f: // line_strp
		c.reads.shown(&c.reads.lineTexts, c.number(c.unit.offset))
	case 0x1a: // strx
		c.reads.indexed(c.leb(), c.unit.offset)
	case 0x25: // strx1
		c.reads.indexed(c.number(1), c.unit.offset)
	case 0x26: // strx2
		c.reads.indexed(c.number(2), c.unit.offset)
	case 0x28: // strx4
		c.reads.indexed(c.number(4), c.unit.offset)
	case 0x27: // strx3
		low, high := c.number(2), c.number(1)
		c.reads.indexed(low|high<<16, c.unit.offset)
	default:
		return false
	}
	return true
}

// skipValue skips a value of another form.
func (c *infoCheck) skipValue(form uint64) class {
	if c.name(form) {
		return otherClass
	}
	switch form {
	case 0x08: // string
		n := bytes.IndexByte(c.data, 0)
		if n < 0 {
			c.fail()
			break
		}
		c.reads.blank = n == 0
		c.data = c.data[n+1:]
	case 0x01: // addr
		c.number(c.unit.addr)
	case 0x1d, 0x1f20, 0x1f21: // strp_sup, GNU_ref_alt, GNU_strp_alt
		c.number(c.unit.offset)
	case 0x09, 0x18: // block, exprloc
		c.skip(c.leb())
	case 0x0a: // block1
		c.skip(c.number(1))
	case 0x03: // block2
		c.skip(c.number(2))
	case 0x04: // block4
		c.skip(c.number(4))
	case 0x1b, 0x22: // addrx, loclistx
		c.leb()
	default:
		size, ok := fixedSize(field{form: form})
		if !ok {
			return unknownForm
		}
		c.skip(size)
	}
	return otherClass
}
