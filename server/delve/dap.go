package delve

import (
	"io"
	"net"
	"sync"
	"time"

	"github.com/go-delve/delve/pkg/config"
	"github.com/go-delve/delve/service"
	"github.com/go-delve/delve/service/dap"
	"github.com/go-delve/delve/service/debugger"

	"github.com/clewdbg/clew/server/delve/delvelog"
	"github.com/clewdbg/clew/server/delve/executable"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/delve/interpose"
)

// DAPConfig is what `dlv dap` takes from its command line.
type DAPConfig struct {
	// Addr is the address that the client connected to, which messages name.
	Addr           net.Addr
	Backend        string
	CheckGoVersion bool
	DisableASLR    bool
	// OnLaunch is called before a program is started, with its absolute path, but
	// not before it is started again. May be nil.
	OnLaunch func(path string)
}

// DAP is Delve's DAP session, which launches or attaches as its client
// asks. One process holds at most one.
type DAP struct {
	session      *dap.Session
	launch       *launchWatch // nil where launches are not watched
	conn         net.Conn
	stop         chan struct{} // tells Delve that it is being stopped
	disconnected chan struct{} // Delve says that its client is gone, or has asked it to end
	served       chan struct{}
	closing      sync.Once
}

// StartDAP starts a session. It fails where this build's Delve is not the one
// that clew was written for.
func StartDAP(cfg DAPConfig) (*DAP, error) {
	if err := internals.Check(); err != nil {
		return nil, err
	}
	listen()
	executable.LimitMemory("the program", interpose.SayLast)
	var watch *launchWatch
	if cfg.OnLaunch != nil {
		watch = &launchWatch{tell: cfg.OnLaunch}
	}
	launching.Store(watch)
	var directories []string
	if conf, err := config.LoadConfig(); err == nil && conf != nil {
		directories = conf.DebugInfoDirectories
	}
	ours, delves := net.Pipe()
	d := &DAP{
		launch: watch, conn: ours, stop: make(chan struct{}), disconnected: make(chan struct{}), served: make(chan struct{}),
	}
	d.session = dap.NewSession(&pipe{Conn: delves, addr: cfg.Addr}, &dap.Config{
		Config: &service.Config{
			DisconnectChan: d.disconnected,
			Debugger: debugger.Config{
				Backend: cfg.Backend, Foreground: true, DebugInfoDirectories: directories,
				CheckGoVersion: cfg.CheckGoVersion, DisableASLR: cfg.DisableASLR,
			},
		},
		StopTriggered: d.stop,
	}, nil)
	go func() {
		defer close(d.served)
		d.session.ServeDAPCodec()
	}()
	return d, nil
}

// pipe is Delve's end of the connection; it has the address that the client
// knows.
type pipe struct {
	net.Conn
	addr net.Addr
}

func (p *pipe) LocalAddr() net.Addr {
	if p.addr != nil {
		return p.addr
	}
	return p.Conn.LocalAddr()
}

// Conn is the client's end of the connection.
func (d *DAP) Conn() io.ReadWriteCloser { return d.conn }

// Done is closed when Delve has ended the session, or lost its client: call
// [DAP.Close] then.
func (d *DAP) Done() <-chan struct{} { return d.served }

// Close ends the session as Delve's server does: a program that was launched is
// killed, one that was attached to goes on. It returns when that is done.
func (d *DAP) Close() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.closing.Do(func() {
			close(d.stop)
			d.session.Close()
		})
		<-d.served
	}()
	select {
	case <-done:
	case <-time.After(closePatience):
		if internals.DAPDebugger(d.session) != nil {
			<-done
		}
	}
}

// closePatience bounds the wait for a session without a program.
//
// Situation: Delve waits for the output of a program that could not be started: it has
// begun to open a pipe that is never written to. Example: a launch with
// outputMode "remote" of a program that is not there. Test: integration/dap
// TestFailedLaunchEnds.
const closePatience = 5 * time.Second

// Session returns the process that Delve has launched or attached to, nil before
// it has. It must be called when the session is known to be idle, which it is
// when its `initialized` event was read. After a restart it returns another
// session.
func (d *DAP) Session() *Session {
	s, err := d.program()
	if err != nil {
		delvelog.DAPError("stacks and steps are Delve's own: %v", err)
	}
	return s
}

// Debugger is Delve's debugger of the program; see [DAP.Session] for when it is there.
func (d *DAP) Debugger() *debugger.Debugger { return internals.DAPDebugger(d.session) }

func (d *DAP) program() (*Session, error) {
	dbg := d.Debugger()
	if dbg == nil {
		return nil, nil
	}
	s, err := Over(dbg)
	if err != nil {
		return nil, err
	}
	if err := d.launch.check(s); err != nil {
		return nil, err
	}
	return s, nil
}
