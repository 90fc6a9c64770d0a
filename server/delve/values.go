package delve

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/go-delve/delve/pkg/dwarf/op"
	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/breakpoints"
	"github.com/clewdbg/clew/server/delve/targets"
	"github.com/clewdbg/clew/server/internal/blocks"
	"github.com/clewdbg/clew/server/values"
	"github.com/clewdbg/clew/unwind"
)

var (
	errPlanted  = errors.New("a breakpoint's instruction is there")
	errNoThread = errors.New("the thread is not there any more")
)

// WriteMemory writes the stopped target's memory, all or nothing.
func (s *Session) WriteMemory(addr uint64, data []byte) error {
	group, unlock, err := s.Stopped()
	if err != nil {
		return err
	}
	defer unlock()
	t := group.Selected
	for at := range t.Breakpoints().M {
		if at+16 > addr && at < addr+uint64(len(data)) { // with room for its instruction
			return errPlanted
		}
	}
	defer s.forgetKept()
	n, err := t.Memory().WriteMemory(addr, data)
	if err == nil && n < len(data) {
		err = targets.ErrShort
	}
	return err
}

// SetRegister sets a register of a thread by DWARF's number.
func (s *Session) SetRegister(thread, reg uint64, data []byte) error {
	group, unlock, err := s.Stopped()
	if err != nil {
		return err
	}
	defer unlock()
	th, ok := group.Selected.FindThread(int(thread))
	if !ok {
		return errNoThread
	}
	defer s.forgetKept()
	value := op.DwarfRegisterFromBytes(data)
	if unwind.Register(min(reg, 0xffff)).Held() && len(data) == 8 {
		value = op.DwarfRegisterFromUint64(binary.LittleEndian.Uint64(data))
	}
	if err := th.SetReg(reg, value); err != nil {
		return fmt.Errorf("register %d: %w", reg, err)
	}
	group.Selected.ClearCaches()
	return nil
}

// stand reads a thread for who has the lock.
func stand(t *proc.Target, th proc.Thread) (*breakpoints.Standing, error) {
	regs, _, err := targets.Registers(th)
	if err != nil {
		return nil, err
	}
	return &breakpoints.Standing{
		Registers: regs, Memory: blocks.Over(heldMemory{t}),
		Vector: func(reg uint64) ([]byte, bool) { return vectorOf(t, th, reg) },
	}, nil
}

// InThread does work in the innermost frame of a thread that stands in native code; native is false for other code.
func (s *Session) InThread(thread int, work func(*values.Frame) error) (native bool, err error) {
	group, unlock, err := s.Stopped()
	if err != nil {
		return false, err
	}
	defer unlock()
	for _, t := range group.Targets() {
		th, ok := t.FindThread(thread)
		if valid, _ := t.Valid(); !ok || !valid || s.recorded {
			continue
		}
		if pc, err := th.Registers(); err != nil || !s.breaks.IsNative(t, pc.PC()) {
			return false, err
		}
		return true, s.breaks.InFrame(t, th, stand, work)
	}
	return false, errNoThread
}

// Vector returns a register of a thread that stacks are not found by, by DWARF's number.
func (s *Session) Vector(thread, reg uint64) (data []byte, ok bool) {
	group, unlock, err := s.Stopped()
	if err != nil {
		return nil, false
	}
	defer unlock()
	t := group.Selected
	th, found := t.FindThread(int(thread))
	if !found {
		return nil, false
	}
	return vectorOf(t, th, reg)
}

func vectorOf(t *proc.Target, th proc.Thread, reg uint64) (data []byte, ok bool) {
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
	r := t.BinInfo().Arch.RegistersToDwarfRegisters(0, regs).Reg(reg)
	if r == nil {
		return nil, false
	}
	r.FillBytes()
	return r.Bytes, len(r.Bytes) > 0
}
