package reading

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/go-delve/delve/pkg/dwarf/op"

	"github.com/clewdbg/clew/server/delve/targets"
	"github.com/clewdbg/clew/unwind"
)

var (
	errPlanted  = errors.New("a breakpoint's instruction is there")
	ErrNoThread = errors.New("the thread is not there any more")
)

// WriteMemory writes the stopped target's memory, all or nothing.
func (s *Reader) WriteMemory(addr uint64, data []byte) error {
	group, unlock, err := s.program.Stopped()
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
func (s *Reader) SetRegister(thread, reg uint64, data []byte) error {
	group, unlock, err := s.program.Stopped()
	if err != nil {
		return err
	}
	defer unlock()
	th, ok := group.Selected.FindThread(int(thread))
	if !ok {
		return ErrNoThread
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

// Vector returns a register of a thread that stacks are not found by, by DWARF's number.
func (s *Reader) Vector(thread, reg uint64) (data []byte, ok bool) {
	group, unlock, err := s.program.Stopped()
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
