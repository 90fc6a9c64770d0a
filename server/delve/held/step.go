package held

import (
	"fmt"

	"github.com/clewdbg/clew/server/delve/targets"
	"github.com/clewdbg/clew/unwind"
)

// StepInstruction has the current thread execute one instruction, whatever that
// is, and returns its registers afterwards. On arm64 a whole sequence of exclusive
// instructions is one (exclusive.go). All other threads stay stopped: an
// instruction that waits for one of them (a futex) does not return.
func (p *Program) StepInstruction() (unwind.Registers, error) {
	group, unlock, err := p.Stopped()
	if err != nil {
		return unwind.Registers{}, err
	}
	defer unlock()
	if err := group.StepInstruction(false); err != nil {
		return unwind.Registers{}, fmt.Errorf("step an instruction: %w", OneLine(err))
	}
	regs, _, err := targets.Registers(group.Selected.CurrentThread())
	return regs, err
}
