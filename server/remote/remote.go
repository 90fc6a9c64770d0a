package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/internal/unwind/gocode"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/internal/bounded"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/internal/goruntime"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/unwind"
)

// Program is a program behind a headless Delve server that takes several
// connections; this is one, for JSON-RPC. The program has other clients: any of
// them can resume it at any time. What was read of it between [Program.Begin]
// and [Program.Still] belongs together if both succeed.
//
// It is not safe for concurrent use, [Program.Selected] and [Program.Close] apart.
type Program struct {
	server
	elsewhere
	conn   net.Conn
	socket net.Conn // at whose other end the server is
	arch   unwind.Arch
	pid    int
	// several says that the server takes several connections.
	several bool

	seen seen // since Begin
	// requests says that requests are told; checked, that nothing was read since the last check of this one.
	requests, checked atomic.Bool
	mapped            *mapped // of a program on another machine; nil until it was asked for

	code gocode.Code // of the runtime; nil until it is told

	mu       sync.Mutex        // for:
	layout   *goruntime.Layout // of the runtime's structures; nil where it is not known
	loaded   *codemap.Map      // nil until it is told
	noLayout bool              // it is nowhere to be found
}

// server asks the Delve server, and remembers nothing.
type server struct{ client *rpc2.RPCClient }

// elsewhere has the answers that are the same for every program of another process's Delve.
type elsewhere struct{}

// connectPatience is the time that a server has to answer first. Once it has read its program it does so at
// once, whatever the program does.
const connectPatience = 10 * time.Second

// Connect begins to speak with the server at the other end of a connection, and
// closes it where that fails or ctx ends before. The program need not stand still.
func Connect(ctx context.Context, conn net.Conn) (*Program, error) {
	answers := bounded.NewAnswers(conn)
	p, err := Over(ctx, answers, conn)
	if why := answers.Why(); err != nil && why != nil {
		err = why
	}
	return p, err
}

// Over is [Connect] for a connection that goes through a socket, which it leaves open.
func Over(ctx context.Context, conn, socket net.Conn) (*Program, error) {
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_ = conn.SetDeadline(time.Now().Add(connectPatience))
	defer func() { _ = conn.SetDeadline(time.Time{}) }()
	p := &Program{conn: conn, socket: socket, server: server{rpc2.NewClientFromConn(conn)}}
	state, err := p.ask()
	if err != nil {
		err = fmt.Errorf("no headless Delve server answers there (dlv dap is not one): %w", err)
	} else if v := p.client.GetVersion(); v.Backend == "core" || v.Backend == "rr" {
		err = fmt.Errorf("the Delve server: %w", live.ErrRecorded)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	p.pid, p.several = state.Pid, p.client.IsMulticlient()
	return p, nil
}

// Several says whether the server takes several connections. One that does not
// ends with this one.
func (p *Program) Several() bool { return p.several }

// Close closes the connection. The program and the server go on.
func (p *Program) Close() error { return p.conn.Close() }

// Live says that it is a process.
func (elsewhere) Live() bool { return true }

// Launched is false: the server's user ends the program.
func (elsewhere) Launched() bool { return false }

// Planted lists nothing: the server sees to its breakpoints.

// PrefetchStack does nothing: the server walks stacks by itself.
func (elsewhere) PrefetchStack(int64, int) (release func()) { return func() {} }

// Pid is the process's ID, on the server's machine.
func (p *Program) Pid() int { return p.pid }

// Arch is the target's architecture. It is known after [Program.Begin].
func (p *Program) Arch() unwind.Arch { return p.arch }

// OS is Linux: images of other systems are not found.
func (p *Program) OS() string { return "linux" }

// KnowCode tells where to find the code of Go's runtime.
func (p *Program) KnowCode(code gocode.Code) { p.code = code }

// Begin begins to read the program at this stop, and drops earlier reads.
func (p *Program) Begin() error {
	state, err := p.state()
	if err != nil {
		return err
	}
	if state.Pid != p.pid { // started anew
		p.pid = state.Pid
		p.mu.Lock()
		p.layout, p.noLayout = nil, false
		p.mu.Unlock()
	}
	p.seen = seen{current: state.CurrentThread.ID, pages: make(map[uint64][]byte), registers: make(map[int]registers)}
	p.checked.Store(false)
	regs, err := p.registersOf(state.CurrentThread.ID)
	if err != nil {
		return err
	}
	p.arch = regs.arch
	if p.arch != unwind.AMD64 && p.arch != unwind.ARM64 {
		return fmt.Errorf("through a Delve server clew knows programs on amd64 and arm64 only, and this one is for %s", p.arch)
	}
	p.seen.planted, err = p.breakpoints()
	return err
}

// state returns the server's state, or an error if the program runs.
func (s server) state() (*api.DebuggerState, error) {
	state, err := s.ask()
	switch {
	case err != nil:
		return nil, fmt.Errorf("ask the Delve server for its state: %w", err)
	case state.Exited:
		return nil, errors.New("the program has exited")
	case state.Running || state.Recording:
		return nil, live.ErrRunning
	case state.CurrentThread == nil:
		return nil, errors.New("the program has no threads")
	}
	return state, nil
}

// InLibrary is as [held.Program.InLibrary]: the server does not say, and where it knows no
// goroutines neither does clew.
func (elsewhere) InLibrary() bool { return false }

// Selected returns the goroutine and thread that the server's commands are about.
func (p *Program) Selected() (reading.Selection, error) {
	state, err := p.state()
	if err != nil {
		return reading.Selection{}, err
	}
	sel := reading.Selection{Thread: uint64(state.CurrentThread.ID)}
	if g := state.SelectedGoroutine; g != nil && g.ID > 0 {
		sel.Goroutine = uint64(g.ID)
		return sel, nil
	}
	p.mu.Lock()
	l := p.layout
	p.mu.Unlock()
	if regs, err := p.readRegisters(state.CurrentThread.ID); err == nil && l != nil {
		rt := goruntime.Runtime{Layout: l, Arch: regs.arch, Memory: examined{p.client}}
		sel.Runtime = rt.MadeByGo(currentG(&rt, sel.Thread, regs.tls, func() map[uint64]uint64 { return machinesOf(p, &rt) }))
	}
	return sel, nil
}

// SelectThread makes a thread the one that the server's commands are about.
func (p *Program) SelectThread(tid uint64) error {
	_, err := p.client.SwitchThread(int(tid))
	return err
}

// errNoArm: the server has no breakpoints with a condition on the stack pointer.
var errNoArm = errors.New("the caller as Delve has it is wrong here, and behind a Delve server clew cannot stop at the right one; set a breakpoint there and continue")

// Arm refuses: a breakpoint at a return address that another activation reaches
// first would stop at the wrong one.
func (elsewhere) Arm(*stepping.Decision) (bool, error) { return false, errNoArm }

// Stepping says that a step was interrupted.
func (s server) Stepping() bool {
	state, err := s.state()
	return err == nil && state.NextInProgress
}

// EndStep has nothing to end.
func (elsewhere) EndStep() error { return nil }

// registers are a thread's.
type registers struct {
	unwind.Registers
	tls  uint64
	arch unwind.Arch
}

func (s server) readRegisters(thread int) (out registers, err error) {
	list, err := s.client.ListThreadRegisters(thread, false)
	if err != nil {
		return out, fmt.Errorf("registers of thread %d: %w", thread, err)
	}
	for _, a := range []unwind.Arch{unwind.AMD64, unwind.ARM64, unwind.I386} {
		out = registers{arch: a}
		for _, reg := range list {
			value, ok := leadingHex(reg.Value)
			if !ok {
				continue
			}
			name := strings.ToLower(reg.Name)
			if name == "fs_base" {
				out.tls = value
			}
			if known, ok := a.ParseRegister(name); ok {
				out.Set(known, value)
			}
		}
		if _, ok := out.Registers.PC(a); ok {
			return out, nil
		}
	}
	return out, fmt.Errorf("the registers of thread %d are of no architecture that clew knows", thread)
}

// leadingHex reads a register's value, behind which the server may say more.
func leadingHex(text string) (uint64, bool) {
	text, ok := strings.CutPrefix(text, "0x")
	text, _, _ = strings.Cut(text, " ")
	v, err := strconv.ParseUint(text, 16, 64)
	return v, ok && err == nil
}
