package delve

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/internal/unwind/gocode"
	"github.com/clewdbg/clew/server/lifeline"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/unwind"
)

// Remote is a program behind a headless Delve server that takes several
// connections; this is one, for JSON-RPC. The program has other clients: any of
// them can resume it at any time. What was read of it between [Remote.Begin]
// and [Remote.Still] belongs together if both succeed.
//
// It is not safe for concurrent use, [Remote.Selected] and [Remote.Close] apart.
type Remote struct {
	server
	elsewhere
	conn net.Conn
	arch unwind.Arch
	pid  int

	several bool

	seen   seen    // since Begin
	mapped *mapped // of a program on another machine; nil until it was asked for

	code gocode.Code // of the runtime; nil until it is told

	mu       sync.Mutex // for:
	layout   *layout    // of the runtime's structures; nil where it is not known
	noLayout bool       // it is nowhere to be found
}

// server asks the Delve server, and remembers nothing.
type server struct{ client *rpc2.RPCClient }

// elsewhere answers what is the same for every program of another process's Delve.
type elsewhere struct{}

// RemoteError says why a program behind a Delve server cannot be looked at.
type RemoteError struct {
	What string
	Err  error
}

// Error says what failed.
func (e *RemoteError) Error() string {
	if e.Err == nil {
		return e.What
	}
	return e.What + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *RemoteError) Unwrap() error { return e.Err }

var (
	// ErrRunning says that the program runs, perhaps because another client let it.
	ErrRunning = errors.New("the program is running; stop it first (dlv connect: halt; an editor: pause)")
	// ErrMoved says that the program has run, or was changed, since it was looked at.
	ErrMoved = errors.New("another client has let the program run, or has changed it")
	// ErrRecorded says that there is no process.
	ErrRecorded = errors.New("it debugs a core file or a recording")
)

// connectPatience is the time that a server has to answer first. It does so at
// once, whatever its program does, or never.
const connectPatience = 10 * time.Second

// Connect begins to speak with the server at the other end of a connection. The
// program need not stand still for that.
func Connect(conn net.Conn) (*Remote, error) {
	_ = conn.SetDeadline(time.Now().Add(connectPatience))
	defer func() { _ = conn.SetDeadline(time.Time{}) }()
	r := &Remote{conn: conn, server: server{rpc2.NewClientFromConn(conn)}}
	state, err := r.client.GetStateNonBlocking()
	if err != nil {
		return nil, &RemoteError{"no headless Delve server answers there (dlv dap is not one)", err}
	}
	r.several = r.client.IsMulticlient()
	if v := r.client.GetVersion(); v.Backend == "core" || v.Backend == "rr" {
		return nil, &RemoteError{"the Delve server", ErrRecorded}
	}
	r.pid = state.Pid
	return r, nil
}

// Conn is the connection to the server.
func (r *Remote) Conn() net.Conn { return r.conn }

// Several says whether the server takes several connections. One that does not
// ends with this one.
func (r *Remote) Several() bool { return r.several }

// Close closes the connection. The program and the server go on.
func (r *Remote) Close() error { return r.conn.Close() }

// Live says that it is a process.
func (elsewhere) Live() bool { return true }

// Launched is false: the server's user ends the program.
func (elsewhere) Launched() bool { return false }

// Planted lists nothing: the server sees to its breakpoints.
func (elsewhere) Planted() []lifeline.Patch { return nil }

// PrefetchStack does nothing: the server walks stacks by itself.
func (elsewhere) PrefetchStack(int64, int) (release func()) { return func() {} }

// Pid is the process's ID, on the server's machine.
func (r *Remote) Pid() int { return r.pid }

// Arch is the target's architecture. It is known after [Remote.Begin].
func (r *Remote) Arch() unwind.Arch { return r.arch }

// OS is Linux: images of other systems are not found.
func (r *Remote) OS() string { return "linux" }

// KnowCode tells where to find the code of Go's runtime.
func (r *Remote) KnowCode(code gocode.Code) { r.code = code }

// Begin begins to read the program at this stop, and drops what was read before.
func (r *Remote) Begin() error {
	state, err := r.state()
	if err != nil {
		return err
	}
	if state.Pid != r.pid { // started anew
		r.pid = state.Pid
		r.mu.Lock()
		r.layout, r.noLayout = nil, false
		r.mu.Unlock()
	}
	r.seen = seen{}
	planted, err := r.breakpoints()
	if err != nil {
		return err
	}
	r.seen.begin(state.CurrentThread.ID, planted)
	regs, err := r.registersOf(state.CurrentThread.ID)
	if err != nil {
		return err
	}
	r.arch = regs.arch
	if r.arch != unwind.AMD64 {
		return &RemoteError{What: fmt.Sprintf("through a Delve server clew knows programs on amd64 only, and this one is for %s", r.arch)}
	}
	return nil
}

// state returns the server's state, or an error if the program runs.
func (r server) state() (*api.DebuggerState, error) {
	state, err := r.client.GetStateNonBlocking()
	switch {
	case err != nil:
		return nil, &RemoteError{"ask the Delve server for its state", err}
	case state.Exited:
		return nil, &RemoteError{What: "the program has exited"}
	case state.Running || state.Recording:
		return nil, ErrRunning
	case state.CurrentThread == nil:
		return nil, &RemoteError{What: "the program has no threads"}
	}
	return state, nil
}

// InLibrary is as [Session.InLibrary]: the server does not say, and where it knows no
// goroutines neither does clew.
func (elsewhere) InLibrary() bool { return false }

// Selected returns the goroutine and thread that the server's commands are about.
func (r *Remote) Selected() (Selection, error) {
	state, err := r.state()
	if err != nil {
		return Selection{}, err
	}
	sel := Selection{Thread: uint64(state.CurrentThread.ID)}
	if g := state.SelectedGoroutine; g != nil && g.ID > 0 {
		sel.Goroutine = uint64(g.ID)
		return sel, nil
	}
	r.mu.Lock()
	l := r.layout
	r.mu.Unlock()
	if regs, err := r.readRegisters(state.CurrentThread.ID); err == nil && l != nil && l.tls != 0 {
		rt := goRuntime{layout: l, arch: regs.arch, memory: examined{r.client}}
		sel.Runtime = rt.madeByGo(rt.readPointer(regs.tls, l.tls))
	}
	return sel, nil
}

// SelectThread makes a thread the one that the server's commands are about.
func (r *Remote) SelectThread(tid uint64) error {
	_, err := r.client.SwitchThread(int(tid))
	return err
}

// errNoArm: the server has no breakpoints with a condition on the stack pointer.
var errNoArm = errors.New("the caller as Delve has it is wrong here, and behind a Delve server clew cannot stop at the right one; set a breakpoint there and continue")

// Arm refuses: a breakpoint at a return address that another activation reaches
// first would stop at the wrong one.
func (elsewhere) Arm(stepping.Temporary) error { return errNoArm }

// EndStep has nothing to end.
func (elsewhere) EndStep() error { return nil }

// remoteRegisters are a thread's.
type remoteRegisters struct {
	unwind.Registers
	tls  uint64
	arch unwind.Arch
}

func (r server) readRegisters(thread int) (out remoteRegisters, err error) {
	list, err := r.client.ListThreadRegisters(thread, false)
	if err != nil {
		return out, fmt.Errorf("registers of thread %d: %w", thread, err)
	}
	for _, a := range []unwind.Arch{unwind.AMD64, unwind.ARM64, unwind.I386} {
		out = remoteRegisters{arch: a}
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
	return out, &RemoteError{What: fmt.Sprintf("the registers of thread %d are of no architecture that clew knows", thread)}
}

// leadingHex reads a register's value, behind which the server may say more.
func leadingHex(text string) (uint64, bool) {
	text, ok := strings.CutPrefix(text, "0x")
	if i := strings.IndexByte(text, ' '); i >= 0 {
		text = text[:i]
	}
	v, err := strconv.ParseUint(text, 16, 64)
	return v, ok && err == nil
}
