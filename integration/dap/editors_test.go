package dap

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// editor is the known behaviour of an editor: how it starts the server, how it
// introduces itself, and its requests at a stop.
type editor struct {
	name string
	// args are the server's arguments for a port that the editor has chosen; nil
	// for an editor that waits for the server to dial.
	args func(port string) []string
	// waits says that the editor waits for the banner; others try to connect.
	waits      bool
	initialize object
	launch     object
	atStop     func(c *client, thread int64) []frame
}

// editors are those whose start-up is known from their sources and settings.
var editors = []editor{
	{
		name: "VS Code with the Go extension", waits: true,
		args: func(port string) []string { return []string{"dap", "--listen=127.0.0.1:" + port, "--log-dest=3"} },
		initialize: object{"clientID": "vscode", "clientName": "Visual Studio Code", "adapterID": "go", "pathFormat": "path",
			"linesStartAt1": true, "columnsStartAt1": true, "supportsVariableType": true, "supportsVariablePaging": true,
			"supportsRunInTerminalRequest": true, "locale": "en", "supportsProgressReporting": true, "supportsInvalidatedEvent": true,
			"supportsMemoryReferences": true, "supportsArgsCanBeInterpretedByShell": true, "supportsMemoryEvent": true,
			"supportsStartDebuggingRequest": true, "supportsANSIStyling": true},
		launch: object{"type": "go", "request": "launch", "name": "Launch", "stopOnEntry": false, "stackTraceDepth": 50,
			"hideSystemGoroutines": false, "showGlobalVariables": false, "__configurationTarget": 5, "packagePathToGoModPathMap": object{}},
		atStop: func(c *client, thread int64) []frame {
			c.ok("threads", nil)
			first := c.stack(thread, 0, 1)
			return append(first.StackFrames, c.stack(thread, 1, 19).StackFrames...)
		},
	},
	{
		name: "VS Code with the Go extension, with its flags and log", waits: true,
		args: func(port string) []string {
			return []string{"dap", "--check-go-version=false", "--listen=127.0.0.1:" + port, "--log=true", "--log-output=debugger,dap", "--log-dest=3"}
		},
		initialize: object{"clientID": "vscode", "clientName": "Visual Studio Code", "adapterID": "go", "pathFormat": "path",
			"linesStartAt1": true, "columnsStartAt1": true, "supportsRunInTerminalRequest": true},
		launch: object{"type": "go", "request": "launch", "name": "Launch", "showLog": true, "trace": "verbose", "logOutput": "debugger,dap",
			"dlvFlags": []string{"--check-go-version=false"}, "hideSystemGoroutines": true},
		atStop: wholeStack,
	},
	{
		name: "VS Code with the Go extension, dialled",
		initialize: object{"clientID": "vscode", "adapterID": "go", "pathFormat": "path", "linesStartAt1": true, "columnsStartAt1": true,
			"supportsRunInTerminalRequest": true},
		launch: object{"type": "go", "request": "launch", "name": "Launch"},
		atStop: wholeStack,
	},
	{
		name: "nvim-dap-go",
		args: func(port string) []string { return []string{"dap", "-l", "127.0.0.1:" + port} },
		initialize: object{"clientID": "neovim", "clientName": "neovim", "adapterID": "nvim-dap", "pathFormat": "path",
			"columnsStartAt1": true, "linesStartAt1": true, "supportsRunInTerminalRequest": true, "supportsVariableType": true,
			"supportsProgressReporting": true, "supportsStartDebuggingRequest": true, "locale": "en_US"},
		launch: object{"type": "go", "name": "Debug", "request": "launch", "outputMode": "remote"},
		atStop: wholeStack,
	},
	{
		name: "Helix",
		args: func(port string) []string { return []string{"dap", "-l", "127.0.0.1:" + port} },
		initialize: object{"clientID": "hx", "clientName": "helix", "adapterID": "go", "locale": "en-us", "linesStartAt1": true,
			"columnsStartAt1": true, "pathFormat": "path", "supportsVariableType": true, "supportsVariablePaging": false,
			"supportsRunInTerminalRequest": true, "supportsMemoryReferences": false, "supportsProgressReporting": true, "supportsInvalidatedEvent": false},
		launch: object{},
		atStop: func(c *client, thread int64) []frame { // levels are left out
			var b stackBody
			decode(c.t, c.request("stackTrace", object{"threadId": thread}), &b)
			return b.StackFrames
		},
	},
	{
		name: "Zed", waits: true,
		args: func(port string) []string { return []string{"dap", "--listen=127.0.0.1:" + port} },
		initialize: object{"clientID": "zed", "clientName": "Zed", "adapterID": "Delve", "linesStartAt1": true, "columnsStartAt1": true,
			"pathFormat": "path", "supportsVariableType": true, "supportsVariablePaging": false, "supportsRunInTerminalRequest": true,
			"supportsMemoryReferences": true, "supportsProgressReporting": false, "supportsInvalidatedEvent": false, "supportsStartDebuggingRequest": true},
		launch: object{"request": "launch", "stopOnEntry": false},
		atStop: wholeStack,
	},
	{
		name: "vimspector",
		args: func(port string) []string { return []string{"dap", "--listen", "127.0.0.1:" + port} },
		initialize: object{"clientID": "vimspector", "clientName": "vimspector", "adapterID": "delve", "locale": "en_GB", "pathFormat": "path",
			"linesStartAt1": true, "columnsStartAt1": true, "supportsVariableType": true, "supportsVariablePaging": false,
			"supportsRunInTerminalRequest": true, "supportsMemoryReferences": true},
		launch: object{"request": "launch", "stopOnEntry": false},
		atStop: func(c *client, thread int64) []frame { // each thread's stack is asked for when it is opened
			c.ok("threads", nil)
			return wholeStack(c, thread)
		},
	},
	{
		name: "Emacs dape",
		args: func(port string) []string { return []string{"dap", "--listen", "127.0.0.1:" + port} },
		initialize: object{"clientID": "dape", "adapterID": "go", "pathFormat": "path", "linesStartAt1": true, "columnsStartAt1": true,
			"supportsRunInTerminalRequest": true, "supportsStartDebuggingRequest": true},
		launch: object{"type": "go", "request": "launch", "cwd": "."},
		atStop: wholeStack,
	},
}

func wholeStack(c *client, thread int64) []frame { return c.stack(thread, 0, 0).StackFrames }

// TestEditors plays a session as each editor does: start-up, a breakpoint, the
// stack with its variables, a step, the end.
func TestEditors(t *testing.T) {
	_, clew := peers(t)
	exe, main := plain(t)
	for _, e := range editors {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			c, ended := e.connect(t, clew)
			c.ok("initialize", e.initialize)
			launch := object{"mode": "exec", "program": exe}
			for k, v := range e.launch {
				launch[k] = v
			}
			launched := c.send("launch", launch)
			c.event("initialized")
			c.ok("setBreakpoints", breakpoints(main, line(t, main, "a breakpoint goes here")))
			c.ok("setExceptionBreakpoints", object{"filters": []string{}})
			c.ok("configurationDone", nil)
			if m := c.response(launched); !m.Success {
				t.Fatalf("launch fails: %s", m.Bytes())
			}
			thread := threadOf(t, c.event("stopped"))
			rows := e.atStop(c, thread)
			if len(rows) < 4 || rows[0].Name != "main.sum" || rows[1].Name != "main.main" {
				t.Fatalf("the stack is %v", rows)
			}
			for _, s := range c.scopes(rows[0].ID) {
				if s.Name == "Locals" {
					if vars := c.variables(s.VariablesReference); vars["total"] != "0" {
						t.Errorf("the variables are %v", vars)
					}
				}
			}
			c.ok("next", object{"threadId": thread})
			c.event("stopped")
			c.ok("disconnect", object{"terminateDebuggee": true})
			c.end()
			ended()
		})
	}
}

// connect starts the server as the editor does. ended demands that it has ended
// too.
func (e *editor) connect(t *testing.T, exe string) (c *client, ended func()) {
	t.Helper()
	var cmd *exec.Cmd
	var conn net.Conn
	if e.args == nil {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		cmd = exec.Command(exe, "dap", "--client-addr="+l.Addr().String())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if conn, err = l.Accept(); err != nil {
			t.Fatal(err)
		}
	} else {
		_, port, err := net.SplitHostPort(freeAddress(t))
		if err != nil {
			t.Fatal(err)
		}
		cmd = exec.Command(exe, e.args(port)...)
		banners, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.ExtraFiles, cmd.Stdout = []*os.File{w}, w // fd 3, and whoever reads stdout
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_ = w.Close()
		if e.waits {
			first := make([]byte, 200)
			n, err := banners.Read(first)
			if err != nil || !bytes.HasPrefix(first[:n], []byte("DAP server listening at:")) {
				t.Fatalf("the first write is %q, %v", first[:n], err)
			}
		}
		for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			if conn, err = net.Dial("tcp", "127.0.0.1:"+port); err == nil {
				break
			}
			if time.Now().After(end) {
				t.Fatal(err)
			}
		}
		go func() { _, _ = io.Copy(io.Discard, banners) }() // the log follows; it ends with the server
		t.Cleanup(func() { _ = banners.Close() })
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	c = newClient(t, conn)
	c.numbered = true
	return c, func() {
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("the server ends with %v", err)
			}
		case <-time.After(patience):
			t.Error("the server does not end")
		}
	}
}

// freeAddress is an address without a listener a moment ago: editors choose
// ports like that.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestGoExtension: the commands that the Go extension of VS Code runs besides
// debugging: it reads its build information, asks for the version, and has it
// guess where sources are.
func TestGoExtension(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	info, err := buildinfo.ReadFile(binary("clew"))
	if err != nil || !strings.HasPrefix(info.GoVersion, "go1.") || info.Main.Path == "" {
		t.Errorf("build information: %+v, %v", info, err)
	}
	out, err := exec.Command(binary("clew"), "version").Output()
	if err != nil || !bytes.Contains(out, []byte("Version: ")) {
		t.Errorf("clew version: %q, %v", out, err)
	}
	guess := exec.Command(binary("clew"), "substitute-path-guess-helper")
	guess.Stdin = strings.NewReader(fmt.Sprintf(`{"ImportPathOfMainPackage":"plain","ClientGOROOT":%q,"ClientModuleDirectories":{}}`, "/usr/local/go"))
	if out, err := guess.Output(); err != nil || !bytes.HasPrefix(bytes.TrimSpace(out), []byte("{")) && !bytes.HasPrefix(bytes.TrimSpace(out), []byte("null")) {
		t.Errorf("substitute-path-guess-helper: %q, %v", out, err)
	}
}
