package held

import (
	"errors"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/targets"
	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/server/lifeline"
	"github.com/clewdbg/clew/unwind"
)

// Memory reads the stopped target's memory as the program itself would see it:
// the breakpoint instructions that Delve wrote are replaced by the original code.
func (p *Program) Memory() unwind.Memory { return memory{p} }

type memory struct{ p *Program }

// ReadMemory implements [unwind.Memory].
func (m memory) ReadMemory(addr uint64, p []byte) error {
	return m.read(addr, p, targets.Memory.ReadMemory)
}

// ReadPage implements [blocks.Pager].
func (m memory) ReadPage(addr uint64, p []byte) error {
	return m.read(addr, p, targets.Memory.ReadPage)
}

func (m memory) read(addr uint64, p []byte, read func(targets.Memory, uint64, []byte) error) error {
	if len(p) == 0 {
		return nil
	}
	if m.p.concurrent.read(func(t *proc.Target) error { return m.p.readConcurrently(t, addr, p) }) {
		return nil
	}
	group, unlock, err := m.p.Stopped()
	if err != nil {
		return err
	}
	defer unlock()
	t := group.Selected
	if err := read(targets.Memory{Delve: t.Memory(), PID: m.p.LocalPid(t)}, addr, p); err != nil {
		return err
	}
	targets.PutOriginal(t, addr, p)
	return nil
}

// readConcurrently reads without ptrace, which only one may use at a time.
func (p *Program) readConcurrently(t *proc.Target, addr uint64, to []byte) error {
	pid := p.LocalPid(t)
	if pid == 0 {
		return errNoCopy
	}
	if err := procfs.Memory(pid).ReadMemory(addr, to); err != nil {
		return err
	}
	targets.PutOriginal(t, addr, to)
	return nil
}

var errNoCopy = errors.New("no process of this machine")

// Planted lists where Delve has written breakpoints into the target's code, with the
// original bytes.
func (p *Program) Planted() (out []lifeline.Patch, err error) {
	group, unlock, err := p.Stopped()
	if err != nil {
		return nil, err
	}
	defer unlock()
	for _, bp := range group.Selected.Breakpoints().M {
		if len(bp.OriginalData) > 0 && bp.WatchType == 0 {
			out = append(out, lifeline.Patch{Addr: bp.Addr, Original: bp.OriginalData})
		}
	}
	return out, nil
}
