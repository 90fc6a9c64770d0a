package types

import (
	"debug/dwarf"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/clewdbg/clew/server/symbols/dwarfline"
)

// Member is a field of a structure or union, or one of a class's bases.
type Member struct {
	Name string // "" for a base, and for members without a name
	Type *Type
	// Offset is in bytes from the start.
	Offset int64
	// Bits is the size of a bit field, 0 for none; BitOffset is where its lowest bit is on a little-endian machine,
	// in bits from Offset.
	Bits, BitOffset int64
	// Base marks a base class; Virtual says that its place is in the object's table.
	Base, Virtual bool
	// Place is the expression of a virtual base's place, or of another that is decided at run time.
	Place []byte
	// Static is the entry of a static member, which lies outside of the object.
	Static     *dwarfline.Entry
	Artificial bool // the compiler's, as _vptr

	entry *dwarfline.Entry
	err   error
}

// Err says why the member cannot be read, nil if it can.
func (m *Member) Err() error { return m.err }

// VariantPart says which of several variants a value has: Rust's enumerations have one.
type VariantPart struct {
	// Discriminant tells the variants apart; nil: there is one variant alone.
	Discriminant *Member
	Variants     []Variant
}

// Variant is one of several.
type Variant struct {
	// Values select it. Default: it counts where no other does.
	Values  []Range
	Default bool
	Members []Member
}

// Range is of discriminants, both included, as bits of the discriminant's size.
type Range struct{ Low, High uint64 }

// Members are a type's, the bases first, in their order; more says that there are more of them.
func (t *Type) Members() (members []Member, more bool, err error) {
	t.readMembers()
	return t.members, t.more, t.err
}

// Variants are the variant parts of a type.
func (t *Type) Variants() ([]VariantPart, error) {
	t.readMembers()
	return t.parts, t.err
}

func (t *Type) readMembers() {
	t.once.Do(func() {
		if t.entry == nil || t.Kind != Struct && t.Kind != Union {
			return
		}
		var children []*dwarfline.Entry
		children, t.more, t.err = t.entry.Children(maxMembers)
		if t.err != nil {
			return
		}
		for _, c := range children {
			switch c.Tag() {
			case dwarf.TagMember, dwarf.TagInheritance:
				t.members = append(t.members, t.member(c))
			case dwarf.TagVariable: // a static member in DWARF 5
				m := Member{Name: c.Text(dwarf.AttrName), Static: c, entry: c}
				m.Type, m.err = t.set.Of(c)
				t.members = append(t.members, m)
			case tagVariantPart:
				part, err := t.variantPart(c)
				if err != nil {
					t.err = err
					return
				}
				t.parts = append(t.parts, part)
			}
		}
	})
}

func (t *Type) member(e *dwarfline.Entry) Member {
	m := Member{Name: e.Text(dwarf.AttrName), Base: e.Tag() == dwarf.TagInheritance, Artificial: e.Flag(dwarf.AttrArtificial), entry: e}
	if m.Type, m.err = t.set.Of(e); m.err != nil {
		return m
	}
	if e.Tag() == dwarf.TagMember && (e.Flag(dwarf.AttrExternal) || e.Flag(dwarf.AttrDeclaration)) {
		m.Static = e
		return m
	}
	if n, ok := e.Constant(dwarf.AttrVirtuality); ok && n.Value != 0 {
		m.Virtual = true
	}
	m.place(e)
	if m.Base {
		m.Name = ""
	}
	m.bits(e)
	return m
}

// place reads where a member is in its structure.
func (m *Member) place(e *dwarfline.Entry) {
	const at = dwarf.AttrDataMemberLoc
	if n, ok := e.Constant(at); ok {
		m.Offset = n.Int()
		if !n.Signed {
			m.Offset = int64(n.Value)
		}
		return
	}
	data, ok, err := e.Block(at)
	switch {
	case err != nil:
		m.err = err
	case !ok && e.Has(at):
		m.err = fmt.Errorf("its place in the structure is a list")
	case ok && !m.Virtual:
		if n, fixed := plusConstant(data); fixed {
			m.Offset = n
			return
		}
		m.Place = data
	case ok:
		m.Place = data
	}
}

// plusConstant reads the expression DW_OP_plus_uconst N, which older compilers have for N.
func plusConstant(data []byte) (n int64, ok bool) {
	if len(data) < 2 || len(data) > 6 || data[0] != 0x23 && data[0] != 0x10 {
		return 0, false
	}
	for i, b := range data[1:] {
		n |= int64(b&0x7f) << (7 * i)
		if b&0x80 == 0 {
			return n, i == len(data)-2
		}
	}
	return 0, false
}

// bits reads the place of a bit field (DWARF 5, section 5.7.6; DWARF 3 counts from the other end of the
// storage unit).
func (m *Member) bits(e *dwarfline.Entry) {
	size, ok := e.Constant(dwarf.AttrBitSize)
	if !ok || m.err != nil {
		return
	}
	m.Bits = size.Int()
	if m.Bits <= 0 || m.Bits > 128 {
		m.err = fmt.Errorf("a bit field of %d bits", m.Bits)
		return
	}
	if off, ok := e.Constant(dwarf.AttrDataBitOffset); ok {
		n := off.Int()
		if !off.Signed {
			n = int64(off.Value)
		}
		if n < 0 || n > 1<<40 {
			m.err = fmt.Errorf("a bit field at bit %d", n)
			return
		}
		m.Offset += n / 8
		m.BitOffset = n % 8
		return
	}
	off, ok := e.Constant(dwarf.AttrBitOffset)
	if !ok {
		return
	}
	unit, has := e.Constant(dwarf.AttrByteSize)
	bytes := unit.Int()
	if !has {
		n, err := m.Type.Bytes()
		if err != nil {
			m.err = err
			return
		}
		bytes = n
	}
	if bytes <= 0 || bytes > 16 {
		m.err = fmt.Errorf("a bit field in %d bytes", bytes)
		return
	}
	at := 8*bytes - off.Int() - m.Bits
	if at < 0 || at > 8*bytes {
		m.err = fmt.Errorf("a bit field outside of its %d bytes", bytes)
		return
	}
	m.Offset += at / 8
	m.BitOffset = at % 8
}

// variantPart reads the variants of a value (DWARF 5, section 5.7.10).
func (t *Type) variantPart(e *dwarfline.Entry) (part VariantPart, err error) {
	children, more, err := e.Children(maxMembers)
	if err != nil {
		return part, err
	}
	if more {
		return part, fmt.Errorf("more than %d variants", maxMembers)
	}
	discriminant, err := e.Refers(dwarf.AttrDiscr)
	if err != nil {
		return part, err
	}
	if discriminant != nil {
		m := t.member(discriminant)
		if m.err != nil {
			return part, m.err
		}
		part.Discriminant = &m
	}
	for _, c := range children {
		if c.Tag() != tagVariant {
			continue
		}
		v, err := t.variant(c)
		if err != nil {
			return part, err
		}
		part.Variants = append(part.Variants, v)
	}
	return part, nil
}

func (t *Type) variant(e *dwarfline.Entry) (v Variant, err error) {
	value, ok := e.Constant(dwarf.AttrDiscrValue)
	block, listed, err := e.Block(dwarf.AttrDiscrList)
	switch {
	case err != nil:
		return v, err
	case ok:
		n := uint64(value.Int())
		v.Values = []Range{{n, n}}
	case listed:
		return v, fmt.Errorf("a variant with a list of %d bytes of discriminants", len(block))
	case e.Has(dwarf.AttrDiscrValue): // Rust writes one of 128 bits as a block
		wide, ok, err := e.Block(dwarf.AttrDiscrValue)
		if err != nil || !ok || len(wide) != 16 || binary.LittleEndian.Uint64(wide[8:]) != 0 {
			return v, errors.Join(err, errors.New("a discriminant of an unknown form"))
		}
		n := binary.LittleEndian.Uint64(wide)
		v.Values = []Range{{n, n}}
	default:
		v.Default = true
	}
	children, more, err := e.Children(maxMembers)
	if err != nil || more {
		return v, err
	}
	for _, c := range children {
		if c.Tag() == dwarf.TagMember {
			v.Members = append(v.Members, t.member(c))
		}
	}
	return v, nil
}

// Has says whether the variant counts for a discriminant of so many bytes.
func (v *Variant) Has(discriminant uint64, size int64) bool {
	mask := ^uint64(0)
	if size < 8 {
		mask = 1<<(8*size) - 1
	}
	for _, r := range v.Values {
		if low, high, d := r.Low&mask, r.High&mask, discriminant&mask; low <= d && d <= high {
			return true
		}
	}
	return false
}

// Enumerator is a name of an enumeration's value.
type Enumerator struct {
	Name  string
	Value uint64 // sign-extended where it is below 0

	negative bool
}

// Enumerators are the names of an enumeration's values.
func (t *Type) Enumerators() ([]Enumerator, error) {
	if t.entry == nil || t.Kind != Enum {
		return nil, nil
	}
	children, _, err := t.entry.Children(maxMembers)
	if err != nil {
		return nil, err
	}
	var out []Enumerator
	for _, c := range children {
		if c.Tag() != dwarf.TagEnumerator {
			continue
		}
		n, ok := c.Constant(dwarf.AttrConstValue)
		if !ok {
			continue
		}
		out = append(out, Enumerator{c.Text(dwarf.AttrName), n.Value, n.Signed && int64(n.Value) < 0})
	}
	return out, nil
}

// tagParameterPack is DW_TAG_GNU_template_parameter_pack.
const tagParameterPack = dwarf.Tag(0x4107)

// Parameter returns the type that a template's parameter stands for, by the parameter's index: those of a pack count one by one.
func (t *Type) Parameter(i int) (*Type, error) {
	if t.entry == nil {
		return nil, ErrNoType
	}
	children, _, err := t.entry.Children(maxMembers)
	for k := 0; k < len(children) && err == nil; k++ {
		switch c := children[k]; c.Tag() {
		case dwarf.TagTemplateTypeParameter:
			if i == 0 {
				return t.set.Of(c)
			}
			i--
		case tagParameterPack:
			var in []*dwarfline.Entry
			in, _, err = c.Children(maxMembers)
			children = append(children[:k+1:k+1], append(in, children[k+1:]...)...)
		}
	}
	return nil, errors.Join(err, ErrNoType)
}

// Entry is the member's.
func (m *Member) Entry() *dwarfline.Entry { return m.entry }
