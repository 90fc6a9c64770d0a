//go:build linux

package live

import (
	"bufio"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-dap"
)

// editor is an editor's connection to clew dap.
type editor struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
	seq  int
}

const banner = "DAP server listening at: "

func newEditor(t *testing.T) *editor {
	t.Helper()
	cmd := exec.Command(binary("clew"), "dap", "--listen=127.0.0.1:0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // with the program that it launches
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait() // killed is what we want
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, banner) {
		t.Fatalf("clew dap says %q, %v", line, err)
	}
	conn, err := net.Dial("tcp", strings.TrimSpace(strings.TrimPrefix(line, banner)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &editor{t: t, conn: conn, in: bufio.NewReader(conn)}
}

// send sends a request of a type that has arguments.
func (e *editor) send(command string, m dap.RequestMessage) {
	e.t.Helper()
	e.seq++
	r := m.GetRequest()
	r.Seq, r.Type, r.Command = e.seq, "request", command
	if err := dap.WriteProtocolMessage(e.conn, m); err != nil {
		e.t.Fatal(err)
	}
}

// wait returns the next message of a type. A refusal fails the test.
func wait[M dap.Message](e *editor) M {
	e.t.Helper()
	for {
		m, err := dap.ReadProtocolMessage(e.in)
		if err != nil {
			e.t.Fatal(err)
		}
		if found, ok := m.(M); ok {
			return found
		}
		if refused, ok := m.(*dap.ErrorResponse); ok {
			e.t.Fatalf("%s: %+v", refused.Command, refused.Body.Error)
		}
	}
}

// launchRequest is [dap.LaunchRequest] with arguments of ours.
type launchRequest struct {
	dap.Request
	Arguments map[string]any `json:"arguments"`
}

// inEditor is a row for editors, to which a path that is not absolute is of no use: Delve
// writes it, clew does not.
func inEditor(r row) row {
	if !filepath.IsAbs(r.file) {
		r.place = place{}
	}
	return r
}

// fromEditor are the rows of stackTrace, without labels.
func fromEditor(t *testing.T, at *target, style string) (rows []row) {
	t.Helper()
	e := newEditor(t)
	e.send("initialize", &dap.InitializeRequest{Arguments: dap.InitializeRequestArguments{AdapterID: "clew", PathFormat: "path", LinesStartAt1: true, ColumnsStartAt1: true}})
	wait[*dap.InitializeResponse](e)
	own := map[string]any{"annotate": "off"}
	if style != "" {
		own["names"] = style
	}
	args := map[string]any{"mode": "exec", "program": at.exe, "args": []string{at.stop}, "clew": own}
	if at.core != "" {
		args = map[string]any{"mode": "core", "program": at.exe, "coreFilePath": at.core, "clew": own}
	}
	e.send("launch", &launchRequest{Arguments: args})
	wait[*dap.InitializedEvent](e)
	e.send("configurationDone", &dap.ConfigurationDoneRequest{})
	thread := wait[*dap.StoppedEvent](e).Body.ThreadId
	if at.goroutine != 0 {
		thread = int(at.goroutine)
	}
	e.send("stackTrace", &dap.StackTraceRequest{Arguments: dap.StackTraceArguments{ThreadId: thread, Levels: 300}})
	for _, f := range wait[*dap.StackTraceResponse](e).Body.StackFrames {
		r := row{pc: number(t, strings.TrimPrefix(f.InstructionPointerReference, "0x"), 16), name: f.Name}
		if f.Source != nil {
			r.place = place{f.Source.Path, f.Line}
		}
		rows = append(rows, inEditor(r))
	}
	return rows
}
