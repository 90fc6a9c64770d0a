package delve

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/go-delve/delve/pkg/dwarf/op"

	"github.com/clewdbg/clew/server/delve/targets"
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
		return true, s.breaks.InFrame(t, th, work)
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
	return targets.Vector(t, th, reg)
}
