package main

import (
	"bytes"
	"fmt"
	"net"
	"time"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/dapwire/dapwiretest"
)

// newMute attaches an editor that never reads.
func newMute(addr string) (net.Conn, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	for i, command := range []string{"initialize", "attach", "configurationDone"} {
		m, err := dapwiretest.Request(command, map[string]any{"pathFormat": "path", "linesStartAt1": true, "columnsStartAt1": true, "mode": "remote", "stopOnEntry": true})
		if err != nil {
			return nil, err
		}
		m.SetSeq(int64(i + 1))
		if err := dapwire.Write(conn, m.Bytes()); err != nil {
			return nil, err
		}
	}
	floods(conn, func(i int) ([]byte, error) {
		m, err := dapwiretest.Request("threads", nil)
		if err != nil {
			return nil, err
		}
		m.SetSeq(int64(i + 10))
		var framed bytes.Buffer
		err = dapwire.Write(&framed, m.Bytes())
		return framed.Bytes(), err
	})
	return conn, nil
}

// floods sends requests until the server reads no more of them.
func floods(conn net.Conn, request func(i int) ([]byte, error)) {
	for i := range 1500 {
		content, err := request(i)
		if err != nil {
			return
		}
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		if _, err := conn.Write(content); err != nil {
			return
		}
	}
}

// newMuteTerminal connects a client of JSON-RPC that never reads.
func newMuteTerminal(addr string) (net.Conn, error) {
	conn, err := net.Dial("tcp", addr)
	if err == nil {
		floods(conn, func(i int) ([]byte, error) {
			return fmt.Appendf(nil, `{"method":"RPCServer.State","params":[{"NonBlocking":true}],"id":%d}`, i), nil
		})
	}
	return conn, err
}
