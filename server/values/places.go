package values

import (
	"slices"

	"github.com/clewdbg/clew/server/values/location"
	"github.com/clewdbg/clew/server/values/types"
	"github.com/clewdbg/clew/unwind"
)

// Place is what a part of a frame's memory holds, or a register: a variable, or a register that the frame's function has saved.
type Place struct {
	// Name is the variable's, or the register's that is saved.
	Name  string
	Saved bool
	// Value is the variable, nil for a saved register.
	Value   *Value
	Address uint64 // in memory, where Register is ""
	// Size is in bytes.
	Size     int64
	Register string
	Origin   Origin // of the register
}

// maxPlaces bounds the places of one frame.
const maxPlaces = 1 << 12

// Places are those of the frame's arguments, locals and saved registers, as far as they are known: of a variable that
// lies in several pieces, each. The memory of what a pointer points to is not the frame's.
func (f *Frame) Places() (out []Place, err error) {
	out = f.saved()
	for _, list := range []func() ([]*Value, error){f.Arguments, f.Locals} {
		all, failed := list()
		if failed != nil {
			return out, failed
		}
		for _, v := range all {
			out = append(out, v.places()...)
			if len(out) > maxPlaces {
				return out[:maxPlaces], nil
			}
		}
	}
	return out, nil
}

// places are those of a variable.
func (v *Value) places() (out []Place) {
	if v.err != nil {
		return nil
	}
	whole, err := v.bytes()
	if err != nil {
		whole = 0
	}
	for _, p := range v.pieces() {
		size := int64(p.Bits+7) / 8
		if p.Bits == 0 {
			size = whole
		}
		if size <= 0 {
			continue
		}
		switch one := (Place{Name: v.Name, Value: v, Size: size}); p.Kind {
		case location.Memory:
			one.Address = p.Addr
			out = append(out, one)
		case location.Register:
			rest := v.frame.stack.rest(v.frame.in, p.Reg)
			one.Register, one.Origin = rest.Register, rest.Origin
			out = append(out, one)
		}
	}
	return out
}

// bytes is how many bytes a value has; of an array whose length is decided at run time, too.
func (v *Value) bytes() (int64, error) {
	n, err := v.typ.Bytes()
	if err == nil {
		return n, nil
	}
	u, failed := v.under()
	if failed != nil || u.Kind != types.Array || u.Dimension().Bound == nil {
		return 0, err
	}
	count, failed := v.length(u)
	if failed != nil {
		return 0, failed
	}
	stride, failed := v.stride(u)
	if failed != nil {
		return 0, failed
	}
	if stride != 0 && count > (1<<40)/stride {
		return 0, err
	}
	return count * stride, nil
}

// saved are the registers that the frame's function has saved in its frame, its return address among them.
func (f *Frame) saved() (out []Place) {
	s := f.stack
	if f.in < 0 {
		return nil
	}
	caller, jumped := s.caller(f.in)
	if caller < 0 || jumped {
		return nil
	}
	for n := range uint64(unwind.S390XPC + 1) {
		reg := unwind.Register(n)
		name := s.Arch.RegisterName(reg)
		if _, known := s.Arch.ParseRegister(name); !known || !reg.Held() {
			continue
		}
		data, err := s.register(caller, n)
		if err != nil {
			continue
		}
		if o := s.origin(caller, reg, f.Order().Uint64(data)); o.How == Saved && o.From == f.in {
			out = append(out, Place{Name: name, Saved: true, Address: o.At, Size: int64(s.Arch.PointerSize())})
		}
	}
	slices.SortFunc(out, func(a, b Place) int { return int(int64(a.Address) - int64(b.Address)) })
	return out
}
