package dlvtests

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/throughproxy"
	"github.com/clewdbg/clew/internal/testneed"
)

var proxied = flag.String("proxied", "", "which tests of Delve's suites of clients to run through clew proxy, as for go test -run; some of DAP's by default (all, \".\", take half an hour)")

var prepared = flag.String("prepared", "", "for a machine without Go: a folder with what the test would build, and a go command (integration/arm64 makes it)")

// TestThroughProxy: every test of Delve's suites of clients that passes before a server
// passes with `clew proxy` between.
func TestThroughProxy(t *testing.T) {
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	testneed.Ptrace(t)
	h := &harness{goTool: filepath.Join(*prepared, "go"), source: filepath.Join(*prepared, "delve"), output: make(map[string]string),
		binary: map[string]string{"clew": filepath.Join(*prepared, "clew")}}
	if *prepared == "" {
		testneed.CC(t)
		h = newHarness(t)
		if err := throughproxy.Put(h.source); err != nil {
			t.Fatal(err)
		}
	}
	starter := h.startProxies(t)
	for i, s := range throughproxy.Suites {
		if *proxied+s.Part == "" || *prepared != "" && i > 0 { // prepared is that of DAP
			continue
		}
		t.Run(s.Folder, func(t *testing.T) {
			if h.folder, h.tests = filepath.Join(h.source, s.Folder), filepath.Join(*prepared, "suite.test"); *prepared == "" {
				h.buildSuite(t, s.Folder)
			}
			h.compare(t, cmp.Or(*proxied, s.Part), contender{name: "direct"}, contender{name: "proxy", env: []string{"THROUGH_PROXY=" + starter}})
		})
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
