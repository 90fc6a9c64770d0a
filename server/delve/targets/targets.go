package targets

import (
	"encoding/binary"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/unwind"
)

// Arch is the target's architecture.
func Arch(t *proc.Target) unwind.Arch {
	a, _ := unwind.ParseArch(t.BinInfo().Arch.Name)
	return a
}

// Registers reads a thread's registers and its TLS base.
func Registers(th proc.Thread) (out unwind.Registers, tls uint64, err error) {
	regs, err := th.Registers()
	if err != nil {
		return out, 0, err
	}
	slice, err := regs.Slice(false)
	if err != nil {
		return out, 0, err
	}
	a, _ := unwind.ParseArch(th.BinInfo().Arch.Name)
	for _, r := range slice {
		if reg, ok := internals.RegisterOf(a, r.Name, r.Reg); ok {
			out.Set(reg, r.Reg.Uint64Val)
		}
	}
	out.Set(a.PC(), regs.PC())
	out.Set(a.SP(), regs.SP())
	out.Set(a.FP(), regs.BP())
	return out, regs.TLS(), nil
}

// Vector returns a register of a thread that stacks are not found by, by DWARF's number.
func Vector(t *proc.Target, th proc.Thread, reg uint64) (data []byte, ok bool) {
	defer func() {
		if recover() != nil { // Delve's code for registers of other processors
			data, ok = nil, false
		}
	}()
	const most = 128 // registers that DWARF numbers
	if reg >= most {
		return nil, false
	}
	regs, err := th.Registers()
	if err != nil {
		return nil, false
	}
	if tpidr := uint64(36); reg == tpidr && t.BinInfo().Arch.Name == "arm64" {
		return binary.LittleEndian.AppendUint64(nil, regs.TLS()), true
	}
	r := t.BinInfo().Arch.RegistersToDwarfRegisters(0, regs).Reg(reg)
	if r == nil {
		return nil, false
	}
	r.FillBytes()
	return r.Bytes, len(r.Bytes) > 0
}

// Word reads a word of a program's memory.
func Word(t *proc.Target, addr uint64) (uint64, bool) {
	var word [8]byte
	n, err := t.Memory().ReadMemory(word[:], addr)
	return binary.LittleEndian.Uint64(word[:]), err == nil && n == len(word)
}
