package dap

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
)

// relayTo forwards connections to a server, as ssh does: the process at the other
// end is no process that debugs anything here.
func relayTo(t *testing.T, s *server) *server {
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
			up, err := net.Dial("tcp", s.addr)
			if err != nil {
				_ = conn.Close()
				_ = l.Close() // as the server's port
				return
			}
			for _, way := range [][2]net.Conn{{up, conn}, {conn, up}} {
				go func() {
					_, _ = io.Copy(way[0], way[1])
					_, _ = way[0].Close(), way[1].Close()
				}()
			}
		}
	}()
	relay := *s
	relay.addr = l.Addr().String()
	return &relay
}

// TestDistant: of a program behind a server that is not known to be here, the stack
// is the one that it recorded, too: whether its files are here, or what is in its
// memory has to do.
func TestDistant(t *testing.T) {
	for _, c := range []struct {
		name, variant string
		scenario      int // index into program.Scenarios
		gone          bool
	}{
		{"files here", "static-O1-g-fp", 2, false},
		{"files here", "linked-O2-omit-stripped", 1, false},
		{"files gone", "opened-O2-fp-stripped", 1, true},
		{"files gone", "static-O2-omit", 1, true},
	} {
		t.Run(c.name+"/"+c.variant, func(t *testing.T) {
			t.Parallel()
			v, _ := program.Named(c.variant)
			sc := program.Scenarios[c.scenario]
			p := native(t, v.Name)
			dir := t.TempDir()
			stem := filepath.Join(dir, "record")
			if c.gone {
				p.Path = copyTo(t, dir, p.Path)
				if p.Library != "" {
					p.Library = copyTo(t, dir, p.Library)
				}
			}
			up := headless(t, []string{"env", "NATIVE_LIBRARY=" + p.Library}, true, p.Path, sc.Name, sc.Stop, stem)
			far := relayTo(t, up)
			client := rpcTo(t, up)
			command(t, client, "continue")
			if c.gone {
				_ = os.Remove(p.Path)
				if p.Library != "" {
					_ = os.Remove(p.Library)
				}
			}
			stacks, code, stderr := stacksBehind(t, far.addr)
			if len(stacks) != 1 || code != 0 || stderr != "" {
				t.Fatalf("%d stacks, exit code %d: %s", len(stacks), code, stderr)
			}
			compareRecorded(t, &stacks[0], v, sc, stem)
			editor := proxyTo(t, far).dial()
			editor.remoteEntry()
			got := editor.stack(int64(stacks[0].Goroutine), 0, 1000)
			sameFrames(t, got, &stacks[0])
			editor.disconnect()
			if err := up.wait(); err != nil {
				t.Errorf("dlv ends with %v: %s", err, up.stderr)
			}
		})
	}
}

func copyTo(t *testing.T, dir, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, filepath.Base(path))
	if err := os.WriteFile(out, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return out
}
