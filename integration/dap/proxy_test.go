package dap

import (
	"bytes"
	"context"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/scenario"
)

const (
	headlessBanner = "API server listening at: "
	proxyBanner    = "clew proxy listening at: "
)

// headless starts a headless Delve with a program, that stands before its first
// instruction. Before is a command that runs the server, if there is one.
func headless(t testing.TB, before []string, several bool, program string, args ...string) *server {
	t.Helper()
	dlv, _ := peers(t)
	flags := append(slices.Clone(before), dlv, "exec", program, "--headless", "--listen=127.0.0.1:0")
	if several {
		flags = append(flags, "--accept-multiclient")
	}
	if len(args) > 0 {
		flags = append(append(flags, "--"), args...)
	}
	return startAny(t, headlessBanner, flags[0], flags[1:]...)
}

// proxyTo starts clew proxy before a server.
func proxyTo(t testing.TB, s *server, flags ...string) *server {
	t.Helper()
	return startAny(t, proxyBanner, binary("clew"), append(append([]string{"proxy"}, flags...), s.addr)...)
}

// connect runs `dlv connect` with commands, and returns its output.
func connect(t testing.TB, addr, commands string) (text string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary("dlv"), "connect", "--allow-non-terminal-interactive=true", addr)
	cmd.Stdin = strings.NewReader(commands)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return scenario.MaskText(out.String()), err
}

// TestProxyConnect: `dlv connect` sees the same with the proxy between.
func TestProxyConnect(t *testing.T) {
	exe, source := plain(t)
	const commands = `break main.step
continue
stack
list main.go:61
locals
print i
print p
next
stepout
stack -full
regs
disassemble
examinemem -fmt hex -count 8 -x &total
clearall
libraries
sources main.go
nonsense
list
frame 1 locals
continue
exit -c
`
	var texts [2]string
	for i, through := range []bool{false, true} {
		up := headless(t, nil, true, exe)
		addr := up.addr
		var p *server
		if through {
			p = proxyTo(t, up)
			addr = p.addr
		}
		text, err := connect(t, addr, strings.ReplaceAll(commands, "exit -c", "exit\ny"))
		if err != nil {
			t.Errorf("through the proxy: %v: dlv connect ends with %v: %s", through, err, text)
		}
		texts[i] = strings.ReplaceAll(text, addr, "HOST:PORT")
		if err := up.wait(); err != nil {
			t.Errorf("dlv ends with %v: %s", err, up.stderr)
		}
		if through {
			if err := p.wait(); err != nil || !strings.Contains(p.stderr.String(), "is gone") {
				t.Errorf("clew proxy ends with %v: %s", err, p.stderr)
			}
		}
	}
	if !strings.Contains(texts[0], filepath.Base(source)) || !strings.Contains(texts[0], "main.step") {
		t.Fatalf("dlv connect shows no stack: %s", texts[0])
	}
	if texts[0] != texts[1] {
		a, b := strings.Split(texts[0], "\n"), strings.Split(texts[1], "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Errorf("direct:            %q\nthrough the proxy: %q", a[i], b[i])
			}
		}
		t.Errorf("%d lines directly, %d through the proxy", len(a), len(b))
	}
}

// TestOneClient: a server that takes one connection gets one, for the first
// client that names its program; others are told the reason. The
// proxy ends with it.
func TestOneClient(t *testing.T) {
	exe, _ := plain(t)
	dlv, _ := peers(t)
	for name, start := range map[string]func(*testing.T) *server{
		"headless": func(t *testing.T) *server { return headless(t, nil, false, exe) },
		"dap":      func(t *testing.T) *server { return start(t, dlv) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := start(t)
			p := proxyTo(t, up)
			silent, err := net.Dial("tcp", p.addr) // takes nothing
			if err != nil {
				t.Fatal(err)
			}
			_ = silent.Close()
			c := p.dial()
			c.initialize()
			second := p.dial()
			if m := second.request("initialize", initializeArguments); m.Success || !strings.Contains(string(m.Bytes()), "--accept-multiclient") {
				t.Errorf("a second client gets %s", m.Bytes())
			}
			second.end()
			if text, err := connect(t, p.addr, "exit\n"); err == nil && !strings.Contains(text, "--accept-multiclient") {
				t.Errorf("dlv connect ends with %v: %s", err, text)
			}
			if name == "dap" {
				c.ok("launch", object{"mode": "exec", "program": exe, "stopOnEntry": true})
			} else {
				c.ok("attach", object{"mode": "remote", "stopOnEntry": true})
			}
			c.event("initialized")
			c.ok("configurationDone", nil)
			c.event("stopped")
			c.ok("threads", nil)
			c.ok("disconnect", object{"terminateDebuggee": true})
			c.end()
			for _, s := range []*server{up, p} {
				if err := s.wait(); err != nil {
					t.Errorf("%s ends with %v: %s", s.cmd.Path, err, s.stderr)
				}
			}
		})
	}
}
