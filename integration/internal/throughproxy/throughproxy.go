// Package throughproxy changes a copy of Delve's module so that the clients of its tests
// connect through a proxy.
package throughproxy

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed testdata/through
var sources embed.FS

// changes are lines of the clients, and what comes behind each.
var changes = map[string][2]string{
	"service/dap/daptest/client.go": {"func NewClient(addr string) *Client {\n", "addr = through.Proxy(addr)\n"},
	"service/rpc2/client.go":        {"func NewClient(addr string) *RPCClient {\n", "addr = through.Proxy(addr)\n"},
	"service/listenerpipe.go":       {"func ListenerPipe() (net.Listener, net.Conn) {\n", "if s, c := through.Pipe(); s != nil {\nreturn &preconnectedListener{conn: s, closech: make(chan struct{})}, c\n}\n"},
}

// Put changes the copy in a folder. Its tests then ask $THROUGH_PROXY for proxies.
func Put(folder string) error {
	code, err := sources.ReadFile("testdata/through/through.go")
	if err != nil {
		return err
	}
	to := filepath.Join(folder, "service", "through")
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(to, "through.go"), code, 0o644); err != nil {
		return err
	}
	for file, change := range changes {
		name := filepath.Join(folder, file)
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		changed := strings.Replace(string(text), change[0], change[0]+change[1], 1)
		changed = strings.Replace(changed, "import (\n", "import (\n\"github.com/go-delve/delve/service/through\"\n", 1)
		if strings.Count(changed, "through") != 2 {
			return fmt.Errorf("%s: no %q, or no imports", file, change[0])
		}
		if err := os.WriteFile(name, []byte(changed), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Suite is one of Delve's suites whose clients connect to a server.
type Suite struct {
	Folder string
	Part   string // the tests that run by default, as for go test -run; "" for none
}

// Suites are those of DAP and of JSON-RPC.
var Suites = []Suite{
	{"service/dap", "^(TestLaunchStopOnEntry|TestAttachStopOnEntry|TestPreSetBreakPoint|TestStackTraceRequest|TestNextParked|TestStepOutPreservesGoroutine|TestEvaluateRequest|TestSetVariable|TestLogPoints|TestDisassemble|TestOptionalNotYetImplementedResponses|TestBadlyFormattedMessageToServer)$"},
	{"service/test", ""},
}
