//go:build linux

package killed

import (
	"math/rand/v2"
	"net"
	"time"

	"github.com/clewdbg/clew/server/dapwire/dapwiretest"
)

// edit is an editor before a DAP server: it begins a session, sets a breakpoint that is hit often, and goes on from each stop. It holds its
// connection until it is released, after the verdict: it is not the editor's end that frees the program.
func edit(socket, begin string, arguments map[string]any, r *rand.Rand, release <-chan struct{}) {
	conn := dial(socket, release)
	if conn == nil {
		return
	}
	defer conn.Close()
	client := dapwiretest.NewClient(conn)
	events := make(chan event, 1024)
	go hear(client, events)
	send := func(command string, arguments map[string]any) { _, _ = client.Send(command, arguments) }
	send("initialize", map[string]any{"adapterID": "go"})
	send(begin, arguments)
	for stopped := false; ; {
		select {
		case <-release:
			return
		case e := <-events:
			thread := map[string]any{"threadId": e.Body.ThreadID}
			switch e.Event {
			case "initialized":
				name := []string{"main.work", "main.step"}[r.IntN(2)]
				send("setFunctionBreakpoints", map[string]any{"breakpoints": []any{map[string]any{"name": name}}})
				send("configurationDone", map[string]any{})
			case "continued":
				stopped = false
			case "stopped":
				stopped = true
				send("stackTrace", thread)
				send([]string{"continue", "continue", "next", "stepIn", "stepOut"}[r.IntN(5)], thread)
			}
		case <-time.After(300 * time.Millisecond):
			if !stopped {
				send("pause", map[string]any{"threadId": 1})
			}
		}
	}
}

type event struct {
	Event string
	Body  struct{ ThreadID int }
}

// hear reads until the connection ends.
func hear(client *dapwiretest.Client, events chan<- event) {
	for {
		m, err := client.Read()
		if err != nil {
			return
		}
		if e := (event{Event: m.Event}); e.Event != "" {
			_ = m.Decode("body", &e.Body) // some have none
			events <- e
		}
	}
}

// dial waits for a server's socket; nil when stop is closed before.
func dial(socket string, stop <-chan struct{}) (conn net.Conn) {
	await(stop, func() (there bool) {
		c, err := net.Dial("unix", socket)
		if err == nil {
			conn = c
		}
		return err == nil
	})
	return conn
}

func await(stop <-chan struct{}, there func() bool) bool {
	for !there() {
		select {
		case <-stop:
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
	return true
}
