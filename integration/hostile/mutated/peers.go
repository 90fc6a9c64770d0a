package mutated

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clewdbg/clew/server/dapwire"
)

// protocol is what a connection speaks.
type protocol struct {
	split func(text string) []string // into messages
	// read reads a message. last says that it is what an answer ends with.
	read func(r *bufio.Reader) (last bool, err error)
}

var (
	rpc = protocol{lines, func(r *bufio.Reader) (bool, error) {
		_, err := r.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.ReadSlice('\n')
		}
		return true, err
	}}
	dap = protocol{messages, func(r *bufio.Reader) (bool, error) {
		text, err := dapwire.NewReader(r, 0).Read()
		return err == nil && isAnswer(text), err
	}}
)

// isAnswer says that a message of DAP is a response, or the event that the program has stopped or is gone:
// a continue is over then.
func isAnswer(text []byte) bool {
	var m struct{ Type, Command, Event string }
	if json.Unmarshal(text, &m) != nil {
		return false
	}
	return m.Type == "response" && m.Command != "continue" || m.Event == "stopped" || m.Event == "terminated"
}

// patience is how long a peer waits for a message: the damaged one may have been one that the other still waits for.
const patience = 2 * time.Second

// converse sends each message when the one before has been answered, or has not been for some time.
func (p protocol) converse(conn net.Conn, texts []string) {
	r, silent := bufio.NewReader(conn), false
	for _, text := range texts {
		if _, err := io.WriteString(conn, text); err != nil {
			return
		}
		for last, err := silent, error(nil); !last; {
			if conn.SetReadDeadline(time.Now().Add(patience)) != nil {
				return
			}
			if last, err = p.read(r); err != nil {
				silent = true // no more is waited for
				break
			}
		}
	}
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	_, _ = io.Copy(io.Discard, r)
}

// replay answers each request as a server did once, and hangs up after the last answer.
func (p protocol) replay(conn net.Conn, recorded string) {
	defer func() { _ = conn.Close() }()
	r, pieces := bufio.NewReader(conn), p.split(recorded)
	for len(pieces) > 0 {
		if conn.SetReadDeadline(time.Now().Add(patience)) != nil {
			return
		}
		if _, err := p.read(r); err != nil {
			return
		}
		for more := true; more && len(pieces) > 0; pieces = pieces[1:] {
			if _, err := io.WriteString(conn, pieces[0]); err != nil {
				return
			}
			last, err := p.read(bufio.NewReader(strings.NewReader(pieces[0])))
			more = err == nil && !last
		}
	}
}

// serve replays to each client that connects to a socket, until the socket is closed.
func (p protocol) serve(at, recorded string) (net.Listener, error) {
	_ = os.Remove(at)
	l, err := net.Listen("unix", at)
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go p.replay(conn, recorded)
		}
	}()
	return l, nil
}

// against runs a server of clew's at a socket below the folder, and a client against it.
func (p *prepared) against(folder string, env []string, client func(ctx context.Context, conn net.Conn, at string), args ...string) outcome {
	at := filepath.Join(folder, "s")
	_ = os.Remove(at)
	ctx, cancel := context.WithTimeout(context.Background(), maxWall)
	defer cancel()
	go func() {
		conn, err := waitFor(ctx, at)
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		client(ctx, conn, at)
	}()
	return run(nil, env, slices.Insert(args, 1, "-l", "unix:"+at)...)
}

// headless sends a damaged session of JSON-RPC, and ends the server by another client.
func (p *prepared) headless(folder string, _ input, damaged []byte) outcome {
	return p.against(folder, p.env, func(ctx context.Context, conn net.Conn, at string) {
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		for _, line := range lines(string(damaged)) {
			if _, err := io.WriteString(conn, line); err != nil {
				break
			}
		}
		sendDetach(ctx, at)
	}, "exec", "--headless", "--accept-multiclient", p.path, "--", "plain", "int3", p.stem)
}

// sendDetach ends a server by a client of its own, as the damaged one may not have done so.
func sendDetach(ctx context.Context, at string) {
	conn, err := waitFor(ctx, at)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, `{"method":"RPCServer.Command","params":[{"name":"halt"}],"id":1}`+"\n"+
		`{"method":"RPCServer.Detach","params":[{"Kill":true}],"id":2}`+"\n")
	_, _ = io.Copy(io.Discard, conn)
}

// connect answers as a remote server did once, with damage.
func (p *prepared) connect(folder string, _ input, damaged []byte) outcome {
	at := filepath.Join(folder, "s")
	l, err := rpc.serve(at, string(damaged))
	if err != nil {
		return outcome{failure: err.Error()}
	}
	defer func() { _ = l.Close() }()
	return run(nil, os.Environ(), "stack", "--connect", "unix:"+at, "--format", "json", "--goroutine", "all")
}

// proxyServer runs clew proxy between a good client and a server whose answers are damaged.
func (p *prepared) proxyServer(of protocol, session []string) func(string, input, []byte) outcome {
	return func(folder string, _ input, damaged []byte) outcome {
		return p.proxy(folder, of, session, string(damaged))
	}
}

// proxyClient runs it between a client whose requests are damaged, and a good server.
func (p *prepared) proxyClient(of protocol, answers input) func(string, input, []byte) outcome {
	return func(folder string, _ input, damaged []byte) outcome {
		return p.proxy(folder, of, of.split(string(damaged)), string(answers.data))
	}
}

func (p *prepared) proxy(folder string, of protocol, session []string, answers string) outcome {
	up := filepath.Join(folder, "up")
	l, err := of.serve(up, answers)
	if err != nil {
		return outcome{failure: err.Error()}
	}
	defer func() { _ = l.Close() }()
	return p.against(folder, os.Environ(), func(_ context.Context, conn net.Conn, _ string) { of.converse(conn, session) }, "proxy", "unix:"+up)
}
