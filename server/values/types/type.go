package types

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"sync"

	"github.com/clewdbg/clew/server/symbols/dwarfline"
)

// Kind is what a type is.
type Kind uint8

// The kinds of types.
const (
	Void Kind = iota
	Base
	Pointer
	Reference // also of rvalues
	Array
	Struct
	Union
	Enum
	Function
	MemberPointer
	Alias // a typedef or a qualifier: its values are those of another type
	Other // DWARF has it, and clew does not know how its values lie
)

// Encodings of base types (DWARF 5, section 7.8).
const (
	EncodingAddress     = 0x01
	EncodingBoolean     = 0x02
	EncodingComplex     = 0x03
	EncodingFloat       = 0x04
	EncodingSigned      = 0x05
	EncodingSignedChar  = 0x06
	EncodingUnsigned    = 0x07
	EncodingUnsignedChr = 0x08
	EncodingUTF         = 0x10
	EncodingUCS         = 0x11
	EncodingASCII       = 0x12
)

// Bounds on what a file can claim.
const (
	maxMembers    = 1 << 14
	maxDimensions = 16
	maxAliases    = 64
	maxTypes      = 1 << 18
)

// Unknown is a size or count that DWARF does not say.
const Unknown = -1

var (
	errNoBounds = errors.New("the bounds of its type are not known")
	errStride   = errors.New("the distance of the array's elements is decided at run time")
	errPacked   = errors.New("the array's elements begin within bytes")
	errHuge     = errors.New("its type has more bytes than an address space")
)

// Errors of types that cannot be read.
var (
	ErrCycle      = errors.New("its type leads to itself")
	ErrDimensions = fmt.Errorf("its type is an array of more than %d dimensions", maxDimensions)
	ErrTypes      = fmt.Errorf("more than %d types", maxTypes)
	ErrNoType     = errors.New("DWARF does not say its type")
)

// Type is a type. Its fields are those of its kind.
type Type struct {
	Kind Kind
	// Tag is DWARF's.
	Tag dwarf.Tag
	// Own is the name in the source, without scopes; "" for types that have none.
	Own string
	// Size is in bytes; Unknown where DWARF does not say it, as of arrays without bounds.
	Size     int64
	Encoding int // of a base type
	// Bits and Shift: a base type that has fewer bits than bytes.
	Bits, Shift int64
	Language    uint64
	// Incomplete says that the type is declared here, and nothing more is known of it.
	Incomplete bool

	entry *dwarfline.Entry
	set   *Set

	once    sync.Once
	members []Member
	parts   []VariantPart
	more    bool
	err     error

	name     string
	nameOnce sync.Once
	alias    struct {
		once sync.Once
		to   *Type
		err  error
	}

	// Of an array: the dimensions that are left, outermost first, and what they are of.
	dims   []Dimension
	made   *Type // an element, where it is no entry: of arrays with more dimensions, and of types made here
	stride int64 // in bytes, of the innermost dimension; Unknown: the element's size
}

// Dimension is one of an array's.
type Dimension struct {
	Lower int64
	// Count is Unknown where it is decided at run time, or not said at all.
	Count int64
	// Stride is in bytes; Unknown where it follows from what is inside.
	Stride int64
	// Bound is the entry with the bound that is decided at run time: its attribute is Attr. Upper says that it
	// is the index of the last element, and not a count. nil: there is no bound.
	Bound *dwarfline.Entry
	Attr  dwarf.Attr
	Upper bool
}

// Set holds types that were read. It is safe for concurrent use.
type Set struct {
	mu    sync.Mutex
	known map[dwarfline.Key]*Type
}

// NewSet returns an empty set.
func NewSet() *Set { return &Set{known: make(map[dwarfline.Key]*Type)} }

// VoidType is the type of nothing.
var VoidType = &Type{Kind: Void, Size: Unknown}

// Of returns the type that an entry (a variable, a member, another type) has.
func (s *Set) Of(e *dwarfline.Entry) (*Type, error) {
	to, err := e.Refers(dwarf.AttrType)
	switch {
	case err != nil:
		return nil, err
	case to == nil:
		return VoidType, nil
	}
	return s.At(to)
}

// At returns the type whose entry is e.
func (s *Set) At(e *dwarfline.Entry) (*Type, error) {
	key := e.Key()
	s.mu.Lock()
	t, ok := s.known[key]
	full := len(s.known) >= maxTypes
	s.mu.Unlock()
	switch {
	case ok:
		return t, nil
	case full:
		return nil, ErrTypes
	}
	t, err := s.read(e)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.known[key]; ok {
		return known, nil
	}
	s.known[key] = t
	return t, nil
}

// Tags that debug/dwarf has no constant for.
const (
	tagVariantPart   = dwarf.TagVariantPart
	tagVariant       = dwarf.TagVariant
	tagAtomicType    = dwarf.TagAtomicType
	tagImmutableType = dwarf.TagImmutableType
)

var kinds = map[dwarf.Tag]Kind{
	dwarf.TagBaseType: Base, dwarf.TagPointerType: Pointer, dwarf.TagReferenceType: Reference, dwarf.TagRvalueReferenceType: Reference,
	dwarf.TagArrayType: Array, dwarf.TagStringType: Other, dwarf.TagStructType: Struct, dwarf.TagClassType: Struct, dwarf.TagInterfaceType: Struct,
	dwarf.TagUnionType: Union, dwarf.TagEnumerationType: Enum, dwarf.TagSubroutineType: Function, dwarf.TagSubprogram: Function, dwarf.TagPtrToMemberType: MemberPointer,
	dwarf.TagTypedef: Alias, dwarf.TagConstType: Alias, dwarf.TagVolatileType: Alias, dwarf.TagRestrictType: Alias, tagAtomicType: Alias,
	tagImmutableType: Alias, dwarf.TagPackedType: Alias, dwarf.TagSharedType: Alias, dwarf.TagTemplateAlias: Alias, dwarf.TagUnspecifiedType: Void,
}

// read reads a type's entry.
func (s *Set) read(e *dwarfline.Entry) (*Type, error) {
	kind, ok := kinds[e.Tag()]
	if !ok {
		kind = Other
	}
	t := &Type{Kind: kind, Tag: e.Tag(), Own: e.Text(dwarf.AttrName), Size: Unknown, Language: e.Language(), entry: e, set: s, stride: Unknown}
	if n, ok := e.Constant(dwarf.AttrByteSize); ok && n.Int() >= 0 {
		t.Size = int64(n.Value)
	}
	t.Incomplete = e.Flag(dwarf.AttrDeclaration)
	_, address, _ := e.Sizes()
	switch kind {
	case Pointer, Reference:
		if t.Size == Unknown {
			t.Size = int64(address)
		}
	case Base:
		t.readBase()
	case Array:
		if err := t.readArray(); err != nil {
			return nil, err
		}
	case Struct, Union, Enum:
		if to, err := e.Refers(dwarf.AttrSignature); err == nil && to != nil {
			return s.At(to) // the type is in a type unit
		}
		if t.Incomplete {
			t.complete()
		}
	case MemberPointer:
		t.Size = int64(address)
		if of, err := s.Of(e); err == nil {
			if under, err := of.Under(); err == nil && under.Kind == Function {
				t.Size = 2 * int64(address)
			}
		}
	}
	return t, nil
}

// complete takes a type's members from its definition in the same unit's specification.
func (t *Type) complete() {
	if to, err := t.entry.Refers(dwarf.AttrSpecification); err == nil && to != nil {
		t.entry, t.Incomplete = to, to.Flag(dwarf.AttrDeclaration)
	}
}

func (t *Type) readBase() {
	if n, ok := t.entry.Constant(dwarf.AttrEncoding); ok {
		t.Encoding = int(n.Value & 0xff)
	}
	bits, ok := t.entry.Constant(dwarf.AttrBitSize)
	switch {
	case !ok:
	case t.Size == Unknown && bits.Value <= 1<<16:
		t.Size = int64(bits.Value+7) / 8
		t.Bits = int64(bits.Value)
	case bits.Int() > 0 && bits.Int() < 8*t.Size:
		t.Bits = bits.Int()
		if off, ok := t.entry.Constant(dwarf.AttrDataBitOffset); ok && off.Int() >= 0 && off.Int() < 8*t.Size {
			t.Shift = off.Int()
		}
	}
}

// Under returns the type without typedefs and qualifiers.
func (t *Type) Under() (*Type, error) {
	for range maxAliases {
		if t.Kind != Alias {
			return t, nil
		}
		next, err := t.Target()
		if err != nil {
			return nil, err
		}
		t = next
	}
	return nil, ErrCycle
}

// Target is what a pointer or reference points to, an alias stands for, an enumeration is held in, a
// function returns, and the type of an array's elements.
func (t *Type) Target() (*Type, error) {
	if t.made != nil || t.entry == nil {
		if t.made == nil {
			return VoidType, nil
		}
		return t.made, nil
	}
	t.alias.once.Do(func() { t.alias.to, t.alias.err = t.set.Of(t.entry) })
	return t.alias.to, t.alias.err
}

// Class is the type that a pointer to members is of.
func (t *Type) Class() (*Type, error) {
	to, err := t.entry.Refers(dwarf.AttrContainingType)
	switch {
	case err != nil:
		return nil, err
	case to == nil:
		return VoidType, nil
	}
	return t.set.At(to)
}

// Entry is DWARF's, nil for a type that was made here.
func (t *Type) Entry() *dwarfline.Entry { return t.entry }

// PointerTo makes the type of a pointer to t.
func PointerTo(t *Type, size int64) *Type {
	return &Type{Kind: Pointer, Tag: dwarf.TagPointerType, Size: size, Language: t.Language, made: t}
}

// ArrayOf makes the type of an array of count elements.
func ArrayOf(t *Type, count int64) *Type {
	a := &Type{Kind: Array, Tag: dwarf.TagArrayType, Size: Unknown, Language: t.Language, made: t, stride: Unknown, dims: []Dimension{{Count: count, Stride: Unknown}}}
	if size, err := t.Bytes(); err == nil && size > 0 && count >= 0 && count < 1<<40/size {
		a.Size = size * count
	}
	return a
}

// Number makes the type of numbers.
func Number(name string, size int64, encoding int) *Type {
	return &Type{Kind: Base, Own: name, Size: size, Encoding: encoding}
}

// Bytes is how many bytes a value has; the error says why that is not known.
func (t *Type) Bytes() (int64, error) {
	u, err := t.Under()
	if err != nil {
		return 0, err
	}
	switch {
	case u.Size >= 0:
		return u.Size, nil
	case u.Kind == Enum:
		if held, err := u.Target(); err == nil && held.Kind != Void && held.Kind != Enum {
			return held.Bytes()
		}
	case u.Kind == Array:
		return u.arrayBytes()
	}
	if u.Incomplete {
		return 0, fmt.Errorf("its type %s is declared only", t)
	}
	return 0, fmt.Errorf("DWARF does not say the size of its type %s", t)
}

// IsInteger says whether values are whole numbers, truth values and characters included.
func (t *Type) IsInteger() bool {
	return t.Kind == Base && t.Encoding != EncodingFloat && t.Encoding != EncodingComplex && t.Encoding < 0x80 && t.Encoding != 0 && t.Encoding != 0x09
}

// IsSigned says whether values can be below 0.
func (t *Type) IsSigned() bool {
	switch t.Kind {
	case Base:
		return t.Encoding == EncodingSigned || t.Encoding == EncodingSignedChar
	case Enum:
		if held, err := t.Target(); err == nil && held.Kind != Void {
			if u, err := held.Under(); err == nil && u.Kind == Base {
				return u.IsSigned()
			}
		}
		list, _ := t.Enumerators()
		for _, e := range list {
			if e.negative {
				return true
			}
		}
	}
	return false
}

// IsCharacter says whether values are characters of a text.
func (t *Type) IsCharacter() bool {
	if t.Kind != Base {
		return false
	}
	switch t.Encoding {
	case EncodingSignedChar, EncodingUnsignedChr, EncodingUTF, EncodingUCS, EncodingASCII:
		return true
	}
	return t.Own == "wchar_t"
}
