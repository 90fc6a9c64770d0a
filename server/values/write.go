package values

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/clewdbg/clew/server/values/location"
	"github.com/clewdbg/clew/server/values/types"
)

var (
	errNoWrite     = errors.New("this program cannot be changed here")
	errNotWritable = errors.New("only numbers, truth values, characters, pointers, enumerations and bit fields can be written")
	errNoPlace     = errors.New("it lies nowhere: it is computed, and cannot be written")
	errOuter       = errors.New("it lies in a register of an outer frame: only those of the innermost can be written")
	errPieces      = errors.New("it lies in several places, and cannot be written")
)

// Set writes a value: the text is an expression, which is evaluated in the frame. What cannot be written for certain is
// refused. v is as it was read before.
func (f *Frame) Set(v *Value, text string) error {
	v = plain(v)
	u, err := v.under()
	if err != nil {
		return err
	}
	if _, err := v.simple(u); err != nil && v.Err() != nil {
		return fmt.Errorf("what is there is not known: %w", err)
	}
	data, err := f.encode(v, u, text)
	if err != nil {
		return err
	}
	return v.write(data)
}

// encode makes the bytes, or of a bit field the bits, of a new value.
func (f *Frame) encode(v *Value, u *types.Type, text string) ([]byte, error) {
	size, err := u.Bytes()
	if err != nil {
		return nil, err
	}
	if u.Kind == types.Enum {
		if list, err := u.Enumerators(); err == nil {
			for _, e := range list {
				if e.Name == strings.TrimSpace(text) {
					return f.fit(v, u, e.Value, true)
				}
			}
		}
	}
	if u.IsInteger() && size > 8 {
		return wideBytes(text, size, u.IsSigned())
	}
	to, err := f.Evaluate(text)
	if err != nil {
		return nil, err
	}
	o, failed, err := operandOf(to)
	if err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, failed.Err()
	}
	switch {
	case u.Kind == types.Base && u.Encoding == types.EncodingFloat && size == 4:
		return wordOf(uint64(math.Float32bits(float32(o.asFloat()))))[:4], nil
	case u.Kind == types.Base && u.Encoding == types.EncodingFloat && size == 8:
		return wordOf(math.Float64bits(o.asFloat())), nil
	case !u.IsInteger() && u.Kind != types.Enum && u.Kind != types.Pointer:
		return nil, errNotWritable
	case o.isFloat:
		return nil, fmt.Errorf("%s is no whole number", strings.TrimSpace(text))
	case u.Encoding == types.EncodingBoolean && u.Kind == types.Base && o.integer > 1:
		return nil, fmt.Errorf("%d is no truth value", o.integer)
	}
	return f.fit(v, u, o.integer, o.of == nil || o.of.IsSigned())
}

// fit makes the bytes of a number, which must have room.
func (f *Frame) fit(v *Value, u *types.Type, n uint64, signed bool) ([]byte, error) {
	size, err := u.Bytes()
	if err != nil {
		return nil, err
	}
	if size > 8 || size <= 0 {
		return nil, errNotWritable
	}
	bits := 8 * size
	if v.bits > 0 {
		bits = v.bits
	}
	if u.Kind == types.Base && u.Bits > 0 && v.bits == 0 {
		return nil, errNotWritable
	}
	asUnsigned, asSigned := narrow(n, bits, false) == n, narrow(n, bits, true) == n
	fits := u.IsSigned() && asSigned && (signed || int64(n) >= 0) || !u.IsSigned() && asUnsigned && (!signed || int64(n) >= 0)
	// A negative number for a type without sign, and one with its top bit for one with sign, are what C makes of them.
	if !fits && !(signed && asSigned) && !(bits < 64 && asUnsigned) {
		return nil, fmt.Errorf("%d has more than %d bits", int64(n), bits)
	}
	out := wordOf(narrow(n, bits, false))
	if v.bits > 0 {
		return out, nil
	}
	return out[:size], nil
}

// wideBytes makes the bytes of a number of more than 8 of them, from its digits.
func wideBytes(text string, size int64, signed bool) ([]byte, error) {
	n, ok := new(big.Int).SetString(strings.TrimSpace(text), 0)
	room := uint(8 * size)
	if signed {
		room--
	}
	if !ok || n.BitLen() > int(room) || n.Sign() < 0 && !signed || size > 64 {
		return nil, fmt.Errorf("%s is no number of %d bytes", strings.TrimSpace(text), size)
	}
	if n.Sign() < 0 {
		n.Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
	}
	big1, out := n.Bytes(), make([]byte, size)
	for i, b := range big1 {
		out[len(big1)-1-i] = b
	}
	return out, nil
}

// write writes bytes to the value's place, or bits.
func (v *Value) write(data []byte) error {
	if len(v.place.Pieces) != 1 {
		return errPieces
	}
	p := &v.place.Pieces[0]
	s := v.frame.stack
	switch {
	case p.Bits != 0 && v.bits == 0 && int64(p.Bits) != 8*int64(len(data)), p.Shift != 0:
		return errPieces
	case p.Kind == location.Memory:
		return v.writeMemory(p.Addr+uint64(v.off), data)
	case p.Kind == location.Register:
		if v.frame.in != s.physical(0) {
			return errOuter
		}
		if s.SetRegister == nil {
			return errNoWrite
		}
		before, err := v.frame.Register(p.Reg)
		if err != nil {
			return err
		}
		if v.bits > 0 || v.off < 0 || v.off+int64(len(data)) > int64(len(before)) {
			return errPieces
		}
		after := append([]byte(nil), before...)
		copy(after[v.off:], data)
		return s.SetRegister(p.Reg, after)
	}
	return errNoPlace
}

func (v *Value) writeMemory(addr uint64, data []byte) error {
	write := v.frame.stack.Write
	if write == nil {
		return errNoWrite
	}
	if v.bits == 0 {
		return write(addr, data)
	}
	n := (v.shift + v.bits + 7) / 8
	if n > 8 {
		return errNotWritable
	}
	var buf [8]byte
	if err := v.frame.ReadMemory(addr, buf[:n]); err != nil {
		return err
	}
	mask := (^uint64(0) >> uint(64-v.bits)) << uint(v.shift)
	word := binary.LittleEndian.Uint64(buf[:])&^mask | binary.LittleEndian.Uint64(data)<<uint(v.shift)&mask
	binary.LittleEndian.PutUint64(buf[:], word)
	return write(addr, buf[:n])
}
