package values

import (
	"errors"
	"fmt"
	"math"

	"github.com/clewdbg/clew/server/values/location"
	"github.com/clewdbg/clew/server/values/types"
)

// Value is a variable, or a part of one. Nothing of it is read before it is asked for.
type Value struct {
	Name string
	// Path is an expression that names the value, "" if there is none.
	Path     string
	Argument bool
	// Shadowed says that a variable of an inner block hides it.
	Shadowed bool

	frame *Frame
	typ   *types.Type
	place location.Location
	uses  []use // what the place was computed from
	off   int64 // in bytes from the place's start
	// bits is the size of a bit field, shift where it begins.
	bits, shift int64
	err         error // why there is no value
	raw         bool  // without a formatter
	keyed       bool  // an element whose name is its key
	looked      bool
	base        bool          // of a class
	virtual     bool          // a base whose place is in the object's table
	static      *types.Member // a member that lies outside of the object, and was not looked for yet
	holds       *container    // once it was looked for
}

// Type is the value's type as the source names it.
func (v *Value) Type() string {
	if v.typ == nil || v.typ == types.VoidType && v.err != nil {
		return ""
	}
	return v.typ.String()
}

// OptimizedOut says that an error of a value means that the compiler has left it out.
func OptimizedOut(err error) bool { return errors.Is(err, location.ErrOptimized) }

// Address is where the value lies in memory.
func (v *Value) Address() (addr uint64, ok bool) {
	if v.err != nil || v.bits != 0 || len(v.place.Pieces) != 1 || v.place.Pieces[0].Kind != location.Memory {
		return 0, false
	}
	return v.place.Pieces[0].Addr + uint64(v.off), true
}

// maxRead bounds the bytes of one read.
const maxRead = 64 << 10

// under is the value's type without names for it.
func (v *Value) under() (*types.Type, error) {
	if v.err != nil {
		return nil, v.err
	}
	u, err := v.typ.Under()
	if err == nil && u.Incomplete {
		u = v.frame.complete(u)
	}
	return u, err
}

// read reads n bytes of the value.
func (v *Value) read(n int64) ([]byte, error) {
	switch {
	case v.err != nil:
		return nil, v.err
	case n < 0 || n > maxRead:
		return nil, fmt.Errorf("%d bytes are too many to be read at once", n)
	}
	out := make([]byte, n)
	return out, v.gather(out, v.off*8)
}

var errImplied = errors.New("it points to what the compiler has left out")

// gather fills out from bit at of the value's place on.
func (v *Value) gather(out []byte, at int64) error {
	if at < 0 {
		return errors.New("it lies before its variable")
	}
	want, have := int64(len(out))*8, int64(0)
	start := int64(0) // of the piece
	for i := range v.place.Pieces {
		p := &v.place.Pieces[i]
		size := int64(min(p.Bits, math.MaxInt64/4))
		if p.Bits == 0 {
			size = math.MaxInt64/4 - start
		}
		if from := at + have; from >= start && from < start+size {
			n := min(want-have, start+size-from)
			if err := v.piece(p, from-start, out, have, n); err != nil {
				return err
			}
			have += n
		}
		if have == want {
			return nil
		}
		start += size
	}
	return errors.New("DWARF describes a part of it alone")
}

// piece copies n bits of a piece, from bit from on, to bit to of out.
func (v *Value) piece(p *location.Piece, from int64, out []byte, to, n int64) error {
	from += int64(p.Shift)
	first, end := from/8, (from+n+7)/8
	var data []byte
	var err error
	switch p.Kind {
	case location.Optimized:
		return location.ErrOptimized
	case location.Implied:
		return errImplied
	case location.Memory:
		data = make([]byte, end-first)
		err = v.frame.ReadMemory(p.Addr+uint64(first), data)
	case location.Register:
		data, err = v.frame.Register(p.Reg)
	default:
		data = p.Data
	}
	if err != nil {
		return err
	}
	if p.Kind != location.Memory {
		if end > int64(len(data)) {
			return fmt.Errorf("its place has %d bytes, and byte %d is asked for", len(data), end-1)
		}
		data = data[first:end]
	}
	if from%8 == 0 && to%8 == 0 && n%8 == 0 {
		copy(out[to/8:], data[:n/8])
		return nil
	}
	for i := range n {
		bit := data[(from%8+i)/8] >> uint((from%8+i)%8) & 1
		out[(to+i)/8] |= bit << uint((to+i)%8)
	}
	return nil
}

// at returns a part of the value.
func (v *Value) at(name string, off int64, of *types.Type) *Value {
	out := &Value{Name: name, frame: v.frame, typ: of, place: v.place, uses: v.uses, err: v.err}
	out.off = v.off + off
	if (off > 0) != (out.off > v.off) && off != 0 {
		out.err = errors.New("it lies beyond the address space")
	}
	return out
}

// in returns a value in memory.
func (f *Frame) inMemory(name string, addr uint64, of *types.Type) *Value {
	return &Value{Name: name, frame: f, typ: of, place: location.In(addr)}
}

// of returns a value that lies nowhere.
func (f *Frame) valueOf(data []byte, of *types.Type) *Value {
	return &Value{frame: f, typ: of, place: location.Of(data)}
}

func (f *Frame) unknown(name string, err error) *Value {
	return &Value{Name: name, frame: f, typ: types.VoidType, err: err}
}

// word reads a value of up to 8 bytes as a number: sign-extended where its type is signed.
func (v *Value) word() (uint64, error) {
	u, err := v.under()
	if err != nil {
		return 0, err
	}
	if v.bits > 0 {
		return v.field(u)
	}
	size, err := u.Bytes()
	if err != nil {
		return 0, err
	}
	if size == 0 || size > 8 {
		return 0, fmt.Errorf("a number of %d bytes", size)
	}
	data, err := v.read(size)
	if err != nil {
		return 0, err
	}
	var buf [8]byte
	copy(buf[:], data)
	n := v.frame.Order().Uint64(buf[:])
	bits := 8 * size
	if u.Kind == types.Base && u.Bits > 0 && u.Bits <= 64 {
		n >>= uint(u.Shift)
		bits = u.Bits
	}
	return narrow(n, bits, u.IsSigned()), nil
}

// narrow keeps the low bits of a number, and extends its sign.
func narrow(n uint64, bits int64, signed bool) uint64 {
	if bits >= 64 || bits <= 0 {
		return n
	}
	if signed {
		return uint64(int64(n<<(64-bits)) >> (64 - bits))
	}
	return n << (64 - bits) >> (64 - bits)
}

// field reads a bit field.
func (v *Value) field(u *types.Type) (uint64, error) {
	if v.bits > 64 {
		return 0, fmt.Errorf("a bit field of %d bits", v.bits)
	}
	var buf [9]byte
	n := (v.shift + v.bits + 7) / 8
	if err := v.gather(buf[:n], v.off*8); err != nil {
		return 0, err
	}
	low := v.frame.Order().Uint64(buf[:8])
	out := low >> uint(v.shift)
	if v.shift > 0 {
		out |= uint64(buf[8]) << uint(64-v.shift)
	}
	return narrow(out, v.bits, u.IsSigned()), nil
}

// Follow returns what a pointer or reference points to.
func (v *Value) Follow() *Value {
	u, err := v.under()
	if err != nil {
		return v.frame.unknown("", err)
	}
	if u.Kind != types.Pointer && u.Kind != types.Reference {
		return v.frame.unknown("", fmt.Errorf("%s is no pointer", v.Type()))
	}
	to, err := u.Target()
	if err != nil {
		return v.frame.unknown("", err)
	}
	if out := v.implied(to); out != nil {
		return out
	}
	addr, err := v.word()
	if err != nil {
		return v.frame.unknown("", err)
	}
	out := v.frame.inMemory("", addr, to)
	if v.Path != "" {
		out.Path = "*" + wrap(v.Path)
		if u.Kind == types.Reference {
			out.Path = v.Path
		}
	}
	return out
}

// implied follows a pointer to what lies nowhere, and has a value all the same.
func (v *Value) implied(to *types.Type) *Value {
	if len(v.place.Pieces) != 1 || v.place.Pieces[0].Kind != location.Implied || v.off != 0 {
		return nil
	}
	p := &v.place.Pieces[0]
	out := v.frame.variable(&declared{entry: p.Entry})
	if out.err != nil {
		return out
	}
	out.Name, out.Path = "", ""
	out.typ, out.off = to, p.Offset
	return out
}
