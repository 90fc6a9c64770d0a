package integration

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestHostileServer: a server whose answers have no end, or say nothing, costs a terminal and `clew stack` little, and a line says so.
func TestHostileServer(t *testing.T) {
	t.Parallel() // it waits
	for name, c := range map[string]struct {
		serve func(net.Conn)
		says  string
	}{
		"blanks":  {func(conn net.Conn) { flood(conn, "", " ") }, "too long"},
		"a text":  {func(conn net.Conn) { flood(conn, `{"id":0,"result":null,"error":"`, "A") }, "too long"},
		"nothing": {sayNothing, "answer"},
	} {
		t.Run(name, func(t *testing.T) {
			addr := served(t, c.serve)
			for _, args := range [][]string{{"stack", "--connect", addr}, {"connect", addr, "--allow-non-terminal-interactive=true"}} {
				begin := time.Now()
				o := clew(t, args...)
				if o.code != 1 || strings.Contains(o.stderr, "goroutine ") || time.Since(begin) > patience/2 {
					t.Errorf("%v: %v", time.Since(begin), o)
				}
				if args[0] == "stack" && !strings.Contains(o.stderr, c.says) {
					t.Errorf("it does not say %q: %v", c.says, o)
				}
			}
		})
	}
}

// flood writes first once, and then again without an end, until the connection is closed.
func flood(conn net.Conn, first, again string) {
	_, err := conn.Write([]byte(first))
	for piece := []byte(strings.Repeat(again, 1<<20)); err == nil; {
		_, err = conn.Write(piece)
	}
}

// sayNothing answers each request with nothing.
func sayNothing(conn net.Conn) {
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		var request struct {
			ID int `json:"id"`
		}
		if json.Unmarshal(lines.Bytes(), &request) != nil {
			return
		}
		answer, _ := json.Marshal(map[string]any{"id": request.ID, "result": struct{}{}, "error": nil})
		if _, err := conn.Write(append(answer, '\n')); err != nil {
			return
		}
	}
}

// TestSilentServer: a server that says nothing is named after ten seconds; `clew connect` goes on to wait, until it is interrupted.
func TestSilentServer(t *testing.T) {
	t.Parallel() // it waits
	addr := served(t, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	begin := time.Now()
	if o := clew(t, "stack", "--connect", addr); o.code != 1 || !strings.Contains(o.stderr, "no headless Delve server answers there") || time.Since(begin) > 2*patience/3 {
		t.Errorf("%v: %v", time.Since(begin), o)
	}
	cmd := exec.Command(clewPath(), "connect", addr, "--allow-non-terminal-interactive=true")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	line, _ := bufio.NewReader(stderr).ReadString('\n')
	if !timer.Stop() || !strings.Contains(line, addr+" has not answered for 10s. ") {
		t.Errorf("%q", line)
	}
	_ = cmd.Process.Signal(os.Interrupt)
	kill := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	if _ = cmd.Wait(); !kill.Stop() {
		t.Error("an interrupt does not end it")
	}
}

// TestDeepAnswer: an answer that is nested too deep is named as that.
func TestDeepAnswer(t *testing.T) {
	addr := served(t, func(conn net.Conn) { flood(conn, `{"id":0,"error":null,"result":`, "[") })
	for _, args := range [][]string{{"stack", "--connect", addr}, {"connect", addr, "--allow-non-terminal-interactive=true"}} {
		if o := clew(t, args...); o.code != 1 || !strings.Contains(o.stderr, "nested more than 10,000 deep") {
			t.Errorf("%v", o)
		}
	}
}

// served serves each connection to an address.
func served(t *testing.T, serve func(net.Conn)) (addr string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return listener.Addr().String()
}
