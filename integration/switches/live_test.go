//go:build linux

package switches

import (
	"context"
	"encoding/binary"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/integration/internal/inprocess"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/held"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// patience is far above what any run takes.
const patience = 2 * time.Minute

// process is a live one under Delve.
type process struct {
	testing.TB
	ctx     context.Context
	session *delve.Session
	engine  *engine.Engine
	view    *live.View // of this stop, nil until asked for
	// Of a stripped program: facts that the test knows and the debugger does not.
	symbols map[string]uint64
	goid    uint64 // offset in runtime.g
}

func launch(t testing.TB, exe, scenario string) *stand {
	t.Helper()
	return newStand(t, launchProcess(t, exe, scenario), exe)
}

// launchStripped runs the program without its symbols and DWARF.
func launchStripped(t testing.TB, exe, scenario string) *stand {
	t.Helper()
	bare := exe + ".stripped"
	if _, err := os.Stat(bare); err != nil {
		if out, err := exec.Command(testneed.Tool(t, "strip"), "-s", "-o", bare, exe).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	p := launchProcess(t, bare, scenario)
	p.symbols, p.goid = symbolsOf(t, exe), layoutOf(t, exe)["g.goid"]
	return newStand(t, p, exe)
}

func launchProcess(t testing.TB, exe, scenario string) *process {
	t.Helper()
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	session, err := delve.Launch(delve.LaunchConfig{Args: []string{exe, scenario}, NoStdin: true, Stdout: null, Stderr: null})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("leave the program: %v", err)
		}
	})
	return &process{TB: t, ctx: ctx, session: session, engine: engine.New(inprocess.Strategies())}
}

func (p *process) arch() unwind.Arch { return unwind.AMD64 }

func (p *process) run() reason {
	p.Helper()
	p.view = nil
	stop, err := p.session.Continue(p.ctx)
	switch {
	case err != nil:
		p.Fatal(err)
	case p.ctx.Err() != nil:
		p.Fatal("the program did not stop")
	}
	switch stop.Reason {
	case held.StopBreakpoint:
		return atBreakpoint
	case held.StopHardcoded:
		return byItself
	case held.StopExited:
		return exited
	}
	return reason(stop.Reason)
}

func (p *process) locate(fn string) []uint64 {
	p.Helper()
	if addr := p.symbols[fn]; addr != 0 {
		return []uint64{addr}
	} else if p.symbols != nil {
		return nil // inlined
	}
	addrs, err := p.session.Locate(fn)
	if err != nil {
		p.Fatal(err)
	}
	return addrs
}

func (p *process) breakAt(addrs ...uint64) func() {
	p.Helper()
	id, err := p.session.BreakAt(addrs...)
	if err != nil {
		p.Fatal(err)
	}
	return func() {
		if err := p.session.ClearBreak(id); err != nil {
			p.Fatal(err)
		}
	}
}

func (p *process) currentView() *live.View {
	p.Helper()
	if p.view == nil {
		var err error
		if p.view, err = live.NewProcess(p.session).Read(false); err != nil {
			p.Fatal(err)
		}
	}
	return p.view
}

func (p *process) all() []reading.Thread {
	p.Helper()
	list, err := p.currentView().Threads()
	if err != nil {
		p.Fatal(err)
	}
	return list
}

func (p *process) threads() (out []halted) {
	p.Helper()
	for _, th := range p.all() {
		pc, _ := th.Registers.PC(unwind.AMD64)
		if s := th.Saved; p.symbols != nil && s != nil && s.G != 0 {
			th.Goroutine = p.word(s.G + p.goid)
		}
		out = append(out, halted{th.ID, th.Goroutine, pc})
		if last := len(out) - 1; th.Current {
			out[0], out[last] = out[last], out[0]
		}
	}
	return out
}

func (p *process) stack(id uint64) unwind.Stack {
	p.Helper()
	for _, th := range p.all() {
		if th.ID == id {
			if note := stop.Claim(p.currentView(), &th, 0); note != "" {
				p.Log(note)
			}
			return p.engine.Prepare(p.ctx, &p.currentView().Input).Stack(p.ctx, &th.Thread, assembler.Options{})
		}
	}
	p.Fatalf("thread %d is gone", id)
	return unwind.Stack{}
}

func (p *process) signal(thread uint64, number syscall.Signal) {
	p.Helper()
	if err := syscall.Tgkill(p.session.Pid(), int(thread), number); err != nil {
		p.Fatal(err)
	}
}

func (p *process) executable() unwind.RangeSet { return p.currentView().Input.Target.Executable }

func (p *process) word(addr uint64) uint64 {
	p.Helper()
	var b [8]byte
	if err := p.session.Memory().ReadMemory(addr, b[:]); err != nil {
		p.Fatal(err)
	}
	return binary.LittleEndian.Uint64(b[:])
}
