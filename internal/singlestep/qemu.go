package singlestep

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/gdbstub"
)

// Emulator is one of qemu's programs, and how its stub sends registers.
type Emulator struct {
	Path  string
	Order binary.ByteOrder
	// Registers are the DWARF numbers of those that come with the packet "g", -1
	// for others; all have 8 bytes.
	Registers []int
	// Further are registers that do not come with "g", by DWARF number: their
	// numbers for the packet "p". Of longer ones the first 8 bytes count.
	Further map[int]int
}

// The layouts of "g" (qemu's gdb-xml).
var (
	// RegistersARM64 are x0 to x30, sp and pc.
	RegistersARM64 = numbers(0, 33)
	// RegistersS390X are the status word's mask and address and r0 to r15.
	RegistersS390X = append([]int{-1, 65}, numbers(0, 16)...)
)

// FurtherARM64 are the low halves of v8 to v15, FurtherS390X f0 to f7, which have
// other numbers in DWARF.
var (
	FurtherARM64 = map[int]int{72: 42, 73: 43, 74: 44, 75: 45, 76: 46, 77: 47, 78: 48, 79: 49}
	FurtherS390X = map[int]int{16: 35, 17: 37, 18: 39, 19: 41, 20: 36, 21: 38, 22: 40, 23: 42}
)

func numbers(from, n int) (list []int) {
	for i := range n {
		list = append(list, from+i)
	}
	return list
}

// Stub is a program under qemu's debug stub.
type Stub struct {
	*gdbstub.Stub
	emulator Emulator
}

// Emulate starts a program, which stands before its first instruction and ends
// with the test.
func Emulate(t testing.TB, e Emulator, exe string, args ...string) *Stub {
	t.Helper()
	return &Stub{gdbstub.Start(t, e.Path, nil, exe, args...), e}
}

// Step implements [Program].
func (s *Stub) Step() (Result, error) {
	answer, err := s.Ask("s")
	switch {
	case err != nil:
		return Result{}, err
	case strings.HasPrefix(answer, "T05"), strings.HasPrefix(answer, "S05"):
		return Result{}, nil
	case len(answer) >= 3 && answer[0] == 'W':
		status, err := strconv.ParseUint(answer[1:3], 16, 8)
		return Result{Ended: true, Status: int(status)}, err
	}
	return Result{}, fmt.Errorf("the program stopped: %s", answer)
}

// Registers implements [Program].
func (s *Stub) Registers() (r Registers, err error) {
	b, err := s.Bytes("g")
	if err != nil || len(b) < len(s.emulator.Registers)*8 {
		return r, fmt.Errorf("%d bytes of registers: %w", len(b), err)
	}
	for i, number := range s.emulator.Registers {
		if number >= 0 {
			r[number] = s.emulator.Order.Uint64(b[8*i:])
		}
	}
	for number, at := range s.emulator.Further {
		v, err := s.Bytes(fmt.Sprintf("p%x", at))
		if err != nil || len(v) < 8 {
			return r, fmt.Errorf("%d bytes of register %d: %w", len(v), at, err)
		}
		r[number] = s.emulator.Order.Uint64(v)
	}
	return r, nil
}

// Read implements [Program].
func (s *Stub) Read(addr uint64, p []byte) int {
	// The stub answers all or nothing, and a stack may end in any page.
	for n := min(len(p), 1024); n > 0; n /= 2 {
		if b, err := s.Bytes(fmt.Sprintf("m%x,%x", addr, n)); err == nil && len(b) > 0 {
			return copy(p, b)
		}
	}
	return 0
}

// RunTo implements [Program].
func (s *Stub) RunTo(addr uint64) error {
	at := fmt.Sprintf("0,%x,4", addr)
	for _, q := range []string{"Z" + at, "c", "z" + at} {
		if answer, err := s.Ask(q); err != nil || answer != "OK" && !strings.HasPrefix(answer, "T05") {
			return fmt.Errorf("%s: %q, %w", q, answer, err)
		}
	}
	return nil
}
