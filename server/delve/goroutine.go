package delve

import (
	"encoding/binary"
	"fmt"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/unwind"
)

// goroutine is what is read of a runtime.g.
type goroutine struct {
	addr       uint64
	id         uint64
	status     uint32
	m          uint64
	lo, hi     uint64
	sp, pc, bp uint64 // saved when it was parked or went into a system call
	start      uint64 // its first function
	sched      assembler.Saved
}

// States of a goroutine in which it has a stack to show (runtime/runtime2.go).
const (
	statusIdle    = 0
	statusSyscall = 3
	statusDead    = 6
	statusScanBit = 0x1000
	// maxGoroutines bounds what a corrupt length can make us read.
	maxGoroutines = 1 << 24
)

func (s *Session) order() binary.ByteOrder { return binary.LittleEndian }

// readG reads the runtime.g at addr.
func (s *Session) readG(t *proc.Target, addr uint64) (goroutine, error) {
	l := s.layout
	g := goroutine{addr: addr}
	if l.gSize <= 0 || l.gSize > 1<<16 {
		return g, fmt.Errorf("runtime.g has %d bytes", l.gSize)
	}
	buf := make([]byte, l.gSize)
	if n, err := t.Memory().ReadMemory(buf, addr); err != nil || n != len(buf) {
		return g, &unwind.MemoryError{Addr: addr, Size: len(buf), Err: err}
	}
	word := func(off int64) uint64 {
		if off < 0 || off+8 > int64(len(buf)) {
			return 0
		}
		return s.order().Uint64(buf[off:])
	}
	g.id, g.m, g.start = word(l.gGoid), word(l.gM), word(l.gStartPC)
	g.lo, g.hi = word(l.gStackLo), word(l.gStackHi)
	g.status = uint32(word(l.gStatus)) &^ statusScanBit
	g.sp, g.pc, g.bp = word(l.gSchedSP), word(l.gSchedPC), word(l.gSchedBP)
	g.sched = s.saved(arch(t), addr, word)
	if sp := word(l.gSyscallSP); g.status == statusSyscall && sp != 0 {
		g.sp, g.pc, g.bp = sp, word(l.gSyscallPC), word(l.gSyscallB)
	}
	return g, nil
}

// saved is the state in the runtime.g whose words are given.
func (s *Session) saved(a unwind.Arch, addr uint64, word func(int64) uint64) assembler.Saved {
	out := assembler.Saved{G: addr}
	out.Registers.Set(a.PC(), word(s.layout.gSchedPC))
	out.Registers.Set(a.SP(), word(s.layout.gSchedSP))
	out.Registers.Set(a.FP(), word(s.layout.gSchedBP))
	if a.LR() != unwind.NoRegister {
		out.Registers.Set(a.LR(), word(s.layout.gSchedLR))
	}
	return out
}

// readPointer reads the pointer at base+off; 0 where that is impossible.
func (s *Session) readPointer(t *proc.Target, base uint64, off int64) uint64 {
	var b [8]byte
	if base == 0 {
		return 0
	}
	if n, err := t.Memory().ReadMemory(b[:], base+uint64(off)); err != nil || n != len(b) {
		return 0
	}
	return s.order().Uint64(b[:])
}

// allGs gives the addresses of every runtime.g.
func (s *Session) allGs(t *proc.Target) ([]uint64, error) {
	scope, err := proc.ThreadScope(t, t.CurrentThread())
	if err != nil {
		return nil, err
	}
	read := func(name string) (uint64, error) {
		v, err := scope.EvalExpression(name, proc.LoadConfig{})
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		return s.readPointer(t, v.Addr, 0), nil
	}
	n, err := read("runtime.allglen")
	if err != nil {
		return nil, err
	}
	ptr, err := read("runtime.allgptr")
	if err != nil {
		return nil, err
	}
	if n > maxGoroutines {
		return nil, fmt.Errorf("runtime.allglen is %d", n)
	}
	var out []uint64
	const chunk = 8192
	for i := uint64(0); i < n; i += chunk {
		buf := make([]byte, 8*min(chunk, n-i))
		if got, err := t.Memory().ReadMemory(buf, ptr+8*i); err != nil || got != len(buf) {
			return nil, &unwind.MemoryError{Addr: ptr + 8*i, Size: len(buf), Err: err}
		}
		for ; len(buf) > 0; buf = buf[8:] {
			out = append(out, s.order().Uint64(buf))
		}
	}
	return out, nil
}
