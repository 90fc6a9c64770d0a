package terminal

import (
	"cmp"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-delve/delve/service"
	"github.com/go-delve/delve/service/debugger"

	clewdap "github.com/clewdbg/clew/server/dap"
	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/interpose"
	"github.com/clewdbg/clew/server/names"
	common "github.com/clewdbg/clew/server/session"
)

// Joined serves clients of JSON-RPC in the session of an editor, which has started the program and ends with it.
type Joined struct {
	options Options
	delve   *delve.DAP
	owner   *common.Session
	some    atomic.Bool // a client has joined
	rpc     connections

	once  sync.Once
	ended chan struct{} // closed when a client has ended the session

	mu     sync.Mutex
	server *server // nil before the editor has a program
}

// Join makes an editor's session one that others can join.
func Join(d *delve.DAP, o Options) *Joined {
	o.Stacks.Patience = cmp.Or(max(o.Stacks.Patience, 0), stacksPatience)
	return &Joined{options: o, delve: d, owner: common.New(common.Options{Nudge: interpose.Nudge, Announce: interpose.AnnounceHalt}), ended: make(chan struct{})}
}

// Share has the editor's proxy share its session.
func (j *Joined) Share(opts *clewdap.Options) { opts.Shared, opts.Share = j.owner, j.share }

// share returns the editor's access to the program, which others may run.
func (j *Joined) share(s *delve.Session, settings debuggee.Settings) debuggee.Local {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.server == nil {
		o := j.options
		o.PlainSteps = settings.PlainSteps
		j.server = o.newServer(j.delve.Debugger(), joinedConfig(), names.Style("").On(false), settings.Core, settings.Executable)
		j.server.attach()
	}
	return &shared{Session: s, server: j.server, pid: s.Pid()}
}

// joinedConfig is what clients learn of the server: leaving it does not end it.
func joinedConfig() *service.Config {
	return &service.Config{AcceptMulti: true, APIVersion: 2, Debugger: debugger.Config{Backend: "default"}}
}

// Serve serves a client until it is gone.
func (j *Joined) Serve(conn net.Conn) {
	j.mu.Lock()
	s := j.server
	j.mu.Unlock()
	if s == nil {
		_ = conn.Close() // it was to come later
		return
	}
	j.some.Store(true)
	j.rpc.serve(newRPCClient(s, j.owner, joinedConfig(), func() { j.once.Do(func() { close(j.ended) }) }, conn), conn)
}

// Ended is closed when a client has ended the session.
func (j *Joined) Ended() <-chan struct{} { return j.ended }

// End halts the program for the session's end, where a client other than the editor may have resumed it, and tells all of it.
func (j *Joined) End() {
	if !j.some.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), haltPatience)
	defer cancel()
	_ = j.owner.End(ctx, nil, "the server's end")  // it ends already, or the program is killed as it runs
	time.AfterFunc(answerPatience, j.rpc.farewell) // Delve and this process take longer to end
}

// Close ends what was opened for clients.
func (j *Joined) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.server != nil {
		j.server.close()
	}
}
