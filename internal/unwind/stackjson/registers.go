package stackjson

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/clewdbg/clew/internal/unwind/jsonread"
	"github.com/clewdbg/clew/unwind"
)

// RegisterError is a register name that an architecture does not have, or a
// value that does not fit the register.
type RegisterError struct {
	Arch  unwind.Arch
	Name  string
	Known bool    // the name is known, the value too big
	Value Address // the value, where Known
}

// Error names the problem.
func (e *RegisterError) Error() string {
	if e.Known {
		return fmt.Sprintf("%v is more than register %s of %v can hold", e.Value, e.Name, e.Arch)
	}
	return fmt.Sprintf("%v has no register %q", e.Arch, e.Name)
}

// RegistersByName returns the known registers by name. Those that the
// architecture does not have are left out, so that the output can be read
// again.
func RegistersByName(arch unwind.Arch, r *unwind.Registers) map[string]Address {
	out := make(map[string]Address, r.Len())
	for reg, v := range r.All() {
		name := arch.RegisterName(reg)
		if _, ok := arch.ParseRegister(name); ok {
			out[name] = Address(v)
		}
	}
	return out
}

// setRegister adds one register by name to those that are known. A register
// that is known already is an error, also when it has two names.
func setRegister(regs *unwind.Registers, arch unwind.Arch, name string, v Address) error {
	reg, ok := arch.ParseRegister(name)
	if !ok {
		return &RegisterError{Arch: arch, Name: name}
	}
	if arch.PointerSize() == 4 && v > math.MaxUint32 {
		return &RegisterError{Arch: arch, Name: name, Known: true, Value: v}
	}
	if _, twice := regs.Get(reg); twice {
		return ErrTwice
	}
	regs.Set(reg, uint64(v))
	return nil
}

// ReadRegisters reads an object of registers by an architecture's names.
func ReadRegisters(r *jsonread.Reader, arch unwind.Arch) (unwind.Registers, error) {
	var regs unwind.Registers
	err := r.Map(func(name string) error {
		v, err := r.Address()
		if err != nil {
			return err
		}
		return r.Wrap(setRegister(&regs, arch, name, v))
	})
	return regs, err
}

// addRegisters adds the frame's registers: those that are listed, then PC, SP
// and FP from their fields where the list does not have them.
func (f *Frame) addRegisters(arch unwind.Arch, regs *unwind.Registers) error {
	for _, name := range slices.Sorted(maps.Keys(f.Registers)) {
		if err := setRegister(regs, arch, name, f.Registers[name]); err != nil {
			return &FieldError{Path: "registers." + name, Err: err}
		}
	}
	set := func(reg unwind.Register, v *Address) {
		if _, known := regs.Get(reg); !known && v != nil {
			regs.Set(reg, uint64(*v))
		}
	}
	set(arch.PC(), &f.PC)
	set(arch.SP(), f.SP)
	set(arch.FP(), f.FP)
	return nil
}
