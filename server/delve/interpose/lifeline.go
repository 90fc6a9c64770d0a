package interpose

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync/atomic"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service/debugger"

	"github.com/clewdbg/clew/server/delve/delvelog"
	"github.com/clewdbg/clew/server/lifeline"
)

// life is told of what the session of this process does to programs, before it is done: if this process is
// killed, a program that it has launched is killed, and one that it has attached to is mended and goes on.
var life atomic.Pointer[lifeline.Guard]

// UseGuard has the sessions of this process tell g; nil for none.
func UseGuard(g *lifeline.Guard) { life.Store(g) }

// Restarting must be called before Delve starts the program again.
func Restarting() { noteGuard(life.Load().Restart()) }

// Guarded announces that memory of a process, original until now, is about to be overwritten. unguard says that it
// is as it was.
func Guarded(pid int, addr uint64, original, written []byte) (unguard func()) {
	noteGuard(life.Load().Patch(pid, lifeline.Patch{Addr: addr, Original: original, Written: written}))
	return func() { noteGuard(life.Load().Forget(pid, addr)) }
}

// Announce says what Delve is about to open. Without a guard that can be told, nothing is opened.
func Announce(c *debugger.Config, args []string) error {
	switch {
	case c.CoreFile != "":
	case c.AttachPid > 0:
		return unguarded(life.Load().Attach(c.AttachPid))
	case c.AttachWaitFor == "" && len(args) > 0:
		path, err := exec.LookPath(args[0])
		if err != nil {
			return err
		}
		if path, err = filepath.Abs(path); err != nil {
			return err
		}
		return unguarded(life.Load().Launch(path))
	}
	return nil
}

func unguarded(err error) error {
	if err != nil {
		return fmt.Errorf("guard the program: %w", err)
	}
	return nil
}

// tellLife says what Delve holds: a process, whose breakpoints until now are told.
func (g *guard) tellLife(t *proc.Target, launched bool) {
	if launched {
		noteGuard(life.Load().Kill(g.pid))
		return
	}
	var patches []lifeline.Patch
	for _, bp := range t.Breakpoints().M {
		if bp.WatchType == 0 {
			patches = append(patches, g.patch(bp.Addr, bp.OriginalData))
		}
	}
	noteGuard(life.Load().Patch(g.pid, patches...))
	noteGuard(life.Load().Continue(g.pid))
}

func (g *guard) patch(addr uint64, original []byte) lifeline.Patch {
	return lifeline.Patch{Addr: addr, Original: original, Written: g.BinInfo().Arch.BreakpointInstruction()}
}

// willWrite announces a breakpoint. What memory holds there Delve reads again.
func (g *guard) willWrite(bp *proc.Breakpoint) {
	original := make([]byte, g.BinInfo().Arch.BreakpointSize())
	if n, err := g.Memory().ReadMemory(original, bp.Addr); err == nil && n == len(original) {
		noteGuard(life.Load().Patch(g.pid, g.patch(bp.Addr, original)))
	}
}

// SayLast tells the session's client why the session ends.
func SayLast(text string) { noteGuard(life.Load().Say(text)) }

func noteGuard(err error) {
	if err != nil {
		delvelog.DAPError("guard: %v", err)
	}
}
