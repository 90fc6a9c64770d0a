package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/go-delve/delve/service"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/dap"
	"github.com/go-delve/delve/service/debugger"

	"github.com/clewdbg/clew/server/corefile"
	clewdap "github.com/clewdbg/clew/server/dap"
	"github.com/clewdbg/clew/server/dap/serve"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/delvelog"
	"github.com/clewdbg/clew/server/delve/internals"
	"github.com/clewdbg/clew/server/delve/interpose"
	common "github.com/clewdbg/clew/server/session"
)

// Delve's server takes clients of both protocols on its port, and tells them apart by the
// first byte: the C of Content-Length, or JSON. Here every request of either passes
// the session's owner before Delve sees it.

// port serves a program to clients.
type port struct {
	config  *service.Config
	dbg     *debugger.Debugger
	owner   *common.Session
	server  *server
	editors clewdap.Options // of every editor's proxy
	stop    chan struct{}   // tells Delve's sessions that the server ends

	ended chan struct{} // closed when a client has ended the server
	once  sync.Once

	mu      sync.Mutex
	proxies map[net.Conn]chan struct{} // by Delve's end; closed when the editor has received everything
	rpc     connections
}

// connections are those of JSON-RPC.
type connections struct {
	mu   sync.Mutex
	open map[io.Closer]bool
}

// serve serves a client until it is gone.
func (c *connections) serve(client *rpcClient, conn io.Closer) {
	c.mu.Lock()
	if c.open == nil {
		c.open = make(map[io.Closer]bool)
	}
	c.open[conn] = true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, conn)
	}()
	client.serve()
}

// farewell ends the connections.
func (c *connections) farewell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		_ = conn.Close()
	}
}

// start has Delve start the program, or take it.
func (p *port) start() error {
	if err := internals.Check(); err != nil {
		return err
	}
	p.stop, p.ended = make(chan struct{}), make(chan struct{})
	p.proxies = make(map[net.Conn]chan struct{})
	p.owner = common.New(common.Options{Nudge: interpose.Nudge, Announce: interpose.AnnounceHalt})
	config := p.config.Debugger
	if config.CoreFile != "" {
		if err := corefile.Check(config.CoreFile); err != nil {
			return err
		}
	}
	var err error
	p.dbg, err = delve.NewDebugger(&config, p.config.ProcessArgs)
	return err
}

// end has the server end.
func (p *port) end() { p.once.Do(func() { close(p.ended) }) }

// accept serves clients until the listener is closed: one, or several.
func (p *port) accept() {
	defer p.config.Listener.Close()
	delvelog.RPC("API server pid = %d", os.Getpid()) // as Delve's server does: scripts wait for the line
	for {
		conn, err := serve.Next(p.config.Listener, !p.config.CheckLocalConnUser, func(err error) { delvelog.RPCError("%v", err) })
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				delvelog.RPCError("%v", err)
			}
			return
		}
		go p.serve(conn)
		if !p.config.AcceptMulti {
			return
		}
	}
}

// opened is a connection of which the beginning was read.
type opened struct {
	io.Reader
	io.WriteCloser
}

// serve serves a client by its protocol.
func (p *port) serve(conn net.Conn) {
	r := bufio.NewReader(conn)
	first, err := r.Peek(1)
	if err != nil {
		_ = conn.Close()
		if !p.config.AcceptMulti {
			p.end()
		}
		return
	}
	if first[0] == 'C' {
		p.serveEditor(opened{r, conn})
		return
	}
	p.serveRPC(opened{r, conn})
}

// serveRPC serves a client of JSON-RPC until it is gone.
func (p *port) serveRPC(conn io.ReadWriteCloser) {
	p.rpc.serve(newRPCClient(p.server, p.owner, p.config, p.end, conn), conn)
	if !p.config.AcceptMulti {
		p.end()
	}
}

// serveEditor serves an editor by a session of Delve's, with a proxy before it.
func (p *port) serveEditor(conn io.ReadWriteCloser) {
	ours, delves := net.Pipe()
	config, left := *p.config, make(chan struct{})
	config.DisconnectChan = left
	sessions := dap.NewSession(delves, &dap.Config{Config: &config, StopTriggered: p.stop}, p.dbg)
	go sessions.ServeDAPCodec()
	go func() {
		<-left
		p.end()
	}()
	opts := p.editors
	opts.Client, opts.Upstream, opts.Log, opts.Shared, opts.Remote = conn, ours, delvelog.DAP, p.owner, p.server.reach
	if p.config.AcceptMulti {
		opts.Multi = p.config.Listener.Addr().String
	}
	finished := make(chan struct{})
	p.mu.Lock()
	p.proxies[delves] = finished
	p.mu.Unlock()
	clewdap.New(opts).Run()
	close(finished)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.proxies, delves)
}

// Times that the end of a server takes at most.
const (
	haltPatience = 3 * time.Second
	endPatience  = 5 * time.Second
	// answerPatience is the time for clients of JSON-RPC to get the answers to commands that the end has halted.
	answerPatience = 20 * time.Millisecond
	tellPatience   = 2 * time.Second // for editors that do not read
)

// close ends the session: a program that was launched is killed, another one goes on.
func (p *port) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), haltPatience)
	defer cancel()
	_ = p.owner.End(ctx, nil, "the server's end") // that it runs on is seen below
	close(p.stop)
	_ = p.config.Listener.Close()
	time.AfterFunc(answerPatience, p.rpc.farewell) // Delve looks only every 200 ms whether a program that it has killed is gone
	kill := p.dbg.AttachPid() == 0                 // which Delve sets where it has waited for a process
	done := make(chan error, 1)
	go func() {
		if p.dbg.IsRunning() {
			_, _ = p.dbg.Command(&api.DebuggerCommand{Name: api.Halt}, nil, nil, nil)
		}
		done <- p.dbg.Detach(kill)
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(endPatience):
	}
	pid := p.server.processID()
	if kill && pid > 0 {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it has ended by itself, else
	}
	return fmt.Errorf("process %d does not stop", pid)
}

// flush ends all connections, once editors have received Delve's last messages.
func (p *port) flush() {
	p.rpc.farewell()
	p.mu.Lock()
	waiting := make(map[net.Conn]chan struct{}, len(p.proxies))
	maps.Copy(waiting, p.proxies)
	p.mu.Unlock()
	patience := time.After(tellPatience)
	for delves, finished := range waiting {
		_ = delves.Close() // Delve sends nothing more
		select {
		case <-finished:
		case <-patience:
			return
		}
	}
}
