package dwarfline

import "fmt"

// form is how an attribute's value is encoded (DWARF 5, section 7.5.6).
type form uint16

const (
	formAddr          form = 0x01
	formBlock2        form = 0x03
	formBlock4        form = 0x04
	formData2         form = 0x05
	formData4         form = 0x06
	formData8         form = 0x07
	formString        form = 0x08
	formBlock         form = 0x09
	formBlock1        form = 0x0a
	formData1         form = 0x0b
	formFlag          form = 0x0c
	formSdata         form = 0x0d
	formStrp          form = 0x0e
	formUdata         form = 0x0f
	formRefAddr       form = 0x10
	formRef1          form = 0x11
	formRef2          form = 0x12
	formRef4          form = 0x13
	formRef8          form = 0x14
	formRefUdata      form = 0x15
	formIndirect      form = 0x16
	formSecOffset     form = 0x17
	formExprloc       form = 0x18
	formFlagPresent   form = 0x19
	formStrx          form = 0x1a
	formAddrx         form = 0x1b
	formRefSup4       form = 0x1c
	formStrpSup       form = 0x1d
	formData16        form = 0x1e
	formLineStrp      form = 0x1f
	formRefSig8       form = 0x20
	formImplicitConst form = 0x21
	formLoclistx      form = 0x22
	formRnglistx      form = 0x23
	formRefSup8       form = 0x24
	formStrx1         form = 0x25
	formStrx2         form = 0x26
	formStrx3         form = 0x27
	formStrx4         form = 0x28
	formAddrx1        form = 0x29
	formAddrx2        form = 0x2a
	formAddrx3        form = 0x2b
	formAddrx4        form = 0x2c
	formGNUAddrIndex  form = 0x1f01 // DebugFission
	formGNUStrIndex   form = 0x1f02
	formGNURefAlt     form = 0x1f20 // dwz
	formGNUStrpAlt    form = 0x1f21
	formLLVMAddrxOff  form = 0x2001 // LLVM: an index, and four bytes to add
)

// shape is what a form's value consists of.
type shape uint8

const (
	shapeInvalid shape = iota
	shapeFixed         // size bytes
	shapeAddress       // the unit's size of addresses
	shapeOffset        // the unit's size of offsets
	shapeULEB
	shapeSLEB
	shapeText
	shapeBlock    // size bytes of length; 0: a LEB128 number
	shapeImplicit // in the abbreviation
	shapeIndirect // its form comes before it
)

type layout struct {
	shape shape
	size  int
}

var layouts = map[form]layout{
	formAddr:   {shapeAddress, 0},
	formBlock1: {shapeBlock, 1}, formBlock2: {shapeBlock, 2}, formBlock4: {shapeBlock, 4},
	formBlock: {shapeBlock, 0}, formExprloc: {shapeBlock, 0},
	formData1: {shapeFixed, 1}, formData2: {shapeFixed, 2}, formData4: {shapeFixed, 4}, formData8: {shapeFixed, 8}, formData16: {shapeFixed, 16},
	formFlag: {shapeFixed, 1}, formFlagPresent: {shapeFixed, 0},
	formSdata: {shapeSLEB, 0}, formUdata: {shapeULEB, 0}, formImplicitConst: {shapeImplicit, 0},
	formString: {shapeText, 0}, formStrp: {shapeOffset, 0}, formLineStrp: {shapeOffset, 0}, formStrpSup: {shapeOffset, 0}, formGNUStrpAlt: {shapeOffset, 0},
	formStrx: {shapeULEB, 0}, formStrx1: {shapeFixed, 1}, formStrx2: {shapeFixed, 2}, formStrx3: {shapeFixed, 3}, formStrx4: {shapeFixed, 4}, formGNUStrIndex: {shapeULEB, 0},
	formAddrx: {shapeULEB, 0}, formAddrx1: {shapeFixed, 1}, formAddrx2: {shapeFixed, 2}, formAddrx3: {shapeFixed, 3}, formAddrx4: {shapeFixed, 4}, formGNUAddrIndex: {shapeULEB, 0},
	formRefAddr: {shapeOffset, 0}, formGNURefAlt: {shapeOffset, 0},
	formRef1: {shapeFixed, 1}, formRef2: {shapeFixed, 2}, formRef4: {shapeFixed, 4}, formRef8: {shapeFixed, 8}, formRefUdata: {shapeULEB, 0},
	formRefSup4: {shapeFixed, 4}, formRefSup8: {shapeFixed, 8}, formRefSig8: {shapeFixed, 8},
	formSecOffset: {shapeOffset, 0}, formLoclistx: {shapeULEB, 0}, formRnglistx: {shapeULEB, 0},
	formIndirect:     {shapeIndirect, 0},
	formLLVMAddrxOff: {shapeULEB, 4},
}

// sizes are a unit's sizes, which decide how its values are read.
type sizes struct {
	version int
	address int // bytes of an address
	offset  int // bytes of an offset into a section
}

// layoutOf returns how a form's value is laid out in a unit; shapeInvalid is a form
// that no version of DWARF has.
func (z sizes) layoutOf(f form) layout {
	l := layouts[f]
	switch {
	case f == formRefAddr && z.version <= 2: // DWARF 2 made it an address
		l.size = z.address
	case l.shape == shapeAddress:
		l.size = z.address
	case l.shape == shapeOffset:
		l.size = z.offset
	default:
		return l
	}
	l.shape = shapeFixed
	return l
}

// isList says whether a location in that form is a list of them. DWARF 2 and 3 wrote such offsets as
// numbers.
func isList(f form) bool {
	return f == formSecOffset || f == formLoclistx || f == formData4 || f == formData8
}

// value is an attribute's value: a number, an offset, an index, or for strings and
// blocks where they begin in the section. The form is 0 if there is none.
type value struct {
	form form
	n    uint64
}

// field reads the value of an abbreviation's field.
func (c *cursor) field(z sizes, at *field) value {
	f, l := at.form, at.layout
	if l.shape == shapeIndirect {
		f = form(min(c.uleb(), 0xffff))
		if l = z.layoutOf(f); l.shape == shapeIndirect || l.shape == shapeImplicit {
			l.shape = shapeInvalid
		}
	}
	v := value{form: f}
	switch l.shape {
	case shapeFixed:
		v.n = c.fixed(l.size)
	case shapeULEB:
		v.n = c.uleb()
		c.skip(uint64(l.size))
	case shapeSLEB:
		v.n = uint64(c.sleb())
	case shapeText:
		v.n = c.text()
	case shapeBlock:
		v.n = c.block(l.size)
	case shapeImplicit:
		v.n = uint64(at.implicit)
	default:
		c.fail(fmt.Sprintf("the unknown form %#x", uint16(f)))
	}
	return v
}

// fixed reads a value of a fixed size; one of more than 8 bytes is where it begins.
func (c *cursor) fixed(size int) uint64 {
	switch {
	case size == 0:
		return 1 // a flag
	case size <= 8:
		return c.uint(size)
	}
	at := c.off
	c.skip(uint64(size))
	return at
}

// block skips a block, and returns where it begins.
func (c *cursor) block(size int) (at uint64) {
	n := uint64(0)
	if size == 0 {
		n = c.uleb()
	} else {
		n = c.uint(size)
	}
	at = c.off
	c.skip(n)
	return at
}

// absent says that the entry has no such attribute.
func (v value) absent() bool { return v.form == 0 }

// constant returns a value that is a number.
func (v value) constant() (uint64, bool) {
	switch v.form {
	case formData1, formData2, formData4, formData8, formUdata, formSdata, formImplicitConst:
		return v.n, true
	}
	return 0, false
}

// offset returns a value that is an offset into a section. DWARF 2 and 3 wrote
// such as numbers.
func (v value) offset() (uint64, bool) {
	switch v.form {
	case formSecOffset, formData4, formData8:
		return v.n, true
	}
	return 0, false
}

// isAddress says whether the value is an address, itself or by its index.
func (v value) isAddress() bool {
	_, indexed := v.addressIndex()
	return indexed || v.form == formAddr
}

func (v value) addressIndex() (uint64, bool) {
	switch v.form {
	case formAddrx, formAddrx1, formAddrx2, formAddrx3, formAddrx4, formGNUAddrIndex:
		return v.n, true
	}
	return 0, false
}

func (v value) stringIndex() (uint64, bool) {
	switch v.form {
	case formStrx, formStrx1, formStrx2, formStrx3, formStrx4, formGNUStrIndex:
		return v.n, true
	}
	return 0, false
}
