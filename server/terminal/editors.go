package terminal

import (
	"bytes"
	"io"
	"net"
	"sync"
	"time"

	"github.com/clewdbg/clew/server/dap"
	"github.com/clewdbg/clew/server/delve"
)

// Delve's server takes connections of both protocols on its port, and tells them
// apart by the first byte: the C of Content-Length, or JSON. Between an editor and
// Delve stands a proxy, as in clew dap.

// editors are the proxies before a server.
type editors struct {
	opts dap.Options // of every proxy

	mu      sync.Mutex
	proxies map[net.Conn]chan struct{} // by Delve's end; closed when the editor has received everything
}

// sniffedConn is a connection that Delve has accepted. The first byte decides its
// protocol.
type sniffedConn struct {
	net.Conn
	editors *editors
	begun   bool
}

// Read is called by Delve. The client's first byte decides whether Delve goes on with
// the client, or with a proxy before it.
func (u *sniffedConn) Read(p []byte) (int, error) {
	if u.begun {
		return u.Conn.Read(p)
	}
	u.begun = true
	n, err := u.Conn.Read(p)
	if n == 0 || p[0] != 'C' {
		return n, err
	}
	u.Conn = u.editors.insertProxy(u.Conn, bytes.Clone(p[:n]))
	return u.Conn.Read(p)
}

// editor is an editor's connection, of which the beginning was read.
type editor struct {
	io.Reader
	io.WriteCloser
}

// insertProxy puts a proxy before Delve, and returns Delve's end of it.
func (e *editors) insertProxy(conn net.Conn, beginning []byte) (delves net.Conn) {
	ours, delves := net.Pipe()
	opts := e.opts
	opts.Client, opts.Upstream = editor{io.MultiReader(bytes.NewReader(beginning), conn), conn}, ours
	opts.Log = delve.LogDAP
	finished := make(chan struct{})
	e.mu.Lock()
	if e.proxies == nil {
		e.proxies = map[net.Conn]chan struct{}{}
	}
	e.proxies[delves] = finished
	e.mu.Unlock()
	proxy := dap.New(opts)
	go func() {
		proxy.Run()
		close(finished)
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.proxies, delves)
	}()
	return delves
}

// tellPatience bounds the wait for an editor that does not read.
const tellPatience = 2 * time.Second

// close waits until editors have received Delve's last messages.
func (e *editors) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	patience := time.After(tellPatience)
	for delves, finished := range e.proxies {
		_ = delves.Close() // Delve sends nothing more
		select {
		case <-finished:
		case <-patience:
			return
		}
	}
}
