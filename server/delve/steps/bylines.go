package steps

import (
	"fmt"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/targets"
	"github.com/clewdbg/clew/unwind"
)

// standing is a thread that stands, as steps by lines want it.
type standing struct {
	target *proc.Target
	regs   unwind.Registers
}

// Register implements lines.Thread.
func (s *standing) Register(r unwind.Register) (uint64, bool) { return s.regs.Get(r) }

// Word implements lines.Thread.
func (s *standing) Word(addr uint64) (uint64, bool) { return targets.Word(s.target, addr) }

// startLines begins the step's way through the lines of native code.
func (b *temporary) startLines() error {
	if b.lines == nil {
		return nil
	}
	th, ok := b.target.FindThread(int(b.threadNow()))
	if !ok {
		return fmt.Errorf("thread %d is not there", b.threadNow())
	}
	regs, _, err := targets.Registers(th)
	if err != nil {
		return err
	}
	b.awaits, err = b.lines.Start(&standing{b.target, regs})
	return err
}

// await places breakpoints where the step's way goes on.
func (b *temporary) await(addrs []uint64) error {
	for _, pc := range addrs {
		if err := b.set(pc, sameThread(0, b.threadNow()), b.arrives); err != nil {
			return err
		}
	}
	if b.lines != nil && b.lines.Glue() && !b.crossed {
		b.crossed = true
		c := b.stepper.crossingsOf(b.target, b.code, true)
		return b.enter(c.entries)
	}
	return nil
}

// arrives is called where the step's way was awaited.
func (b *temporary) arrives(th proc.Thread, t *proc.Target) (bool, error) {
	regs, _, err := targets.Registers(th)
	if err != nil {
		return true, err
	}
	ends, addrs, err := b.lines.Arrive(&standing{t, regs})
	if err == nil && !ends {
		err = b.await(addrs)
	}
	if err != nil {
		b.failed = err // the program stops here: further on it would run away
	}
	return ends || err != nil, nil
}
