package stackasm

import (
	"fmt"

	"github.com/clewdbg/clew/unwind"
)

// Memory is an assembled stack. It is not changed by its methods.
type Memory struct {
	Base   uint64
	Data   []byte
	labels map[string]uint64
}

// Value resolves a value; an error wraps [ErrLabel].
func (m *Memory) Value(v Value) (uint64, error) {
	if v.label == "" {
		return v.number, nil
	}
	addr, ok := m.labels[v.label]
	if !ok {
		return 0, fmt.Errorf("%w %q", ErrLabel, v.label)
	}
	return addr + v.number, nil
}

// Addr is the address of a label. It panics for an undefined label, since the
// test that names it is wrong.
func (m *Memory) Addr(label string) uint64 {
	addr, err := m.Value(At(label))
	if err != nil {
		panic("stackasm: " + err.Error())
	}
	return addr
}

// End is the first address behind the stack.
func (m *Memory) End() uint64 { return m.Base + uint64(len(m.Data)) }

// Windows is the whole stack as one window.
func (m *Memory) Windows() unwind.Windows {
	return unwind.Windows{{Addr: m.Base, Data: m.Data}}
}

// Slice is the part of the stack that lies in [low, high) as windows: one, or
// none where that part is empty.
func (m *Memory) Slice(low, high uint64) unwind.Windows {
	low, high = max(low, m.Base), min(high, m.End())
	if low >= high {
		return nil
	}
	return unwind.Windows{{Addr: low, Data: m.Data[low-m.Base : high-m.Base]}}
}

// Segment is the stack as a segment of the given kind.
func (m *Memory) Segment(kind unwind.SegmentKind) unwind.Segment {
	return unwind.Segment{Low: m.Base, High: m.End(), Kind: kind}
}

// Registers makes a register file. Names are those of
// [unwind.Arch.ParseRegister].
func (m *Memory) Registers(arch unwind.Arch, values Values) (unwind.Registers, error) {
	var regs unwind.Registers
	for name, value := range values {
		reg, ok := arch.ParseRegister(name)
		if !ok {
			return unwind.Registers{}, fmt.Errorf("stackasm: %v has no register %q", arch, name)
		}
		v, err := m.Value(value)
		if err != nil {
			return unwind.Registers{}, fmt.Errorf("stackasm: register %s: %w", name, err)
		}
		regs.Set(reg, v)
	}
	return regs, nil
}
