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

// Word reads a word of a program's memory.
func Word(t *proc.Target, addr uint64) (uint64, bool) {
	var word [8]byte
	n, err := t.Memory().ReadMemory(word[:], addr)
	return binary.LittleEndian.Uint64(word[:]), err == nil && n == len(word)
}
