package dlvtests

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

var proxied = flag.String("proxied", "", "which tests of Delve's suites of clients to run through clew proxy, as for go test -run; some of DAP's by default (all, \".\", take half an hour)")

// suite is one of Delve's suites whose clients connect to a server.
type suite struct {
	folder string
	part   string // the tests that run by default, "" for none
}

var suites = []suite{
	{"service/dap", "^(TestLaunchStopOnEntry|TestAttachStopOnEntry|TestPreSetBreakPoint|TestStackTraceRequest|TestNextParked|TestStepOutPreservesGoroutine|TestEvaluateRequest|TestSetVariable|TestLogPoints|TestDisassemble|TestOptionalNotYetImplementedResponses|TestBadlyFormattedMessageToServer)$"},
	{"service/test", ""},
}

// TestThroughProxy: every test of Delve's suites of clients that passes before a server
// passes with `clew proxy` between.
func TestThroughProxy(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.CC(t)
	testneed.Ptrace(t)
	h := newHarness(t)
	h.putThrough(t)
	starter := h.startProxies(t)
	for _, s := range suites {
		if *proxied+s.part == "" {
			continue
		}
		t.Run(s.folder, func(t *testing.T) {
			h.buildSuite(t, s.folder)
			h.compare(t, cmp.Or(*proxied, s.part), contender{name: "direct"}, contender{name: "proxy", env: []string{"THROUGH_PROXY=" + starter}})
		})
	}
}

// putThrough changes the copy of Delve's module so that its tests' clients connect through
// a proxy.
func (h *harness) putThrough(t *testing.T) {
	t.Helper()
	if err := os.CopyFS(filepath.Join(h.source, "service", "through"), os.DirFS("testdata/through")); err != nil {
		t.Fatal(err)
	}
	for file, change := range map[string][2]string{
		"service/dap/daptest/client.go": {"func NewClient(addr string) *Client {\n", "addr = through.Proxy(addr)\n"},
		"service/rpc2/client.go":        {"func NewClient(addr string) *RPCClient {\n", "addr = through.Proxy(addr)\n"},
		"service/listenerpipe.go":       {"func ListenerPipe() (net.Listener, net.Conn) {\n", "if s, c := through.Pipe(); s != nil {\nreturn &preconnectedListener{conn: s, closech: make(chan struct{})}, c\n}\n"},
	} {
		name := filepath.Join(h.source, file)
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(text), change[0], change[0]+change[1], 1)
		changed = strings.Replace(changed, "import (\n", "import (\n\""+delveModule+"/service/through\"\n", 1)
		if strings.Count(changed, "through") != 2 {
			t.Fatalf("%s: no %q, or no imports", file, change[0])
		}
		if err := os.WriteFile(name, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// startProxies listens for the tests' wishes for proxies. It starts them outside of the
// tests' process, in which Delve waits for any child.
func (h *harness) startProxies(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go h.startProxy(t, conn)
		}
	}()
	return l.Addr().String()
}

// startProxy starts a proxy before the server that the first line names, and answers with
// its address. The proxy ends with that server.
func (h *harness) startProxy(t *testing.T, conn net.Conn) {
	defer conn.Close()
	upstream, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return
	}
	cmd := exec.CommandContext(t.Context(), h.binary["clew"], "proxy", "--listen", "127.0.0.1:0", strings.TrimSpace(upstream))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Errorf("start a proxy: %v", err)
		return
	}
	banner, err := bufio.NewReader(out).ReadString('\n')
	fields := strings.Fields(banner)
	if err == nil && len(fields) > 0 {
		_, _ = fmt.Fprintln(conn, fields[len(fields)-1])
	}
	_ = cmd.Wait() // it says that the server is gone
}
