//go:build linux

package terminal

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testkit"
)

// server is where `dlv connect` finds a program.
type server struct {
	name  string
	tool  string // of the headless server
	proxy bool   // clew proxy stands before it
}

var plainServer, proxied, ownServer = server{name: "plain", tool: "dlv"}, server{"proxy", "dlv", true}, server{name: "own", tool: "clew"}

// connect plays a script to `dlv connect`.
func (s server) connect(t *testing.T, env []string, script []string, program string, args ...string) string {
	t.Helper()
	socket := func(name string) string { return "unix:" + filepath.Join(t.TempDir(), name) }
	addr := headless(t, s.tool, env, append([]string{"exec", "--headless", "--disable-aslr", "--listen", socket("server"), program, "--"}, args...)...)
	if s.proxy {
		addr = serving(t, "clew proxy listening at: ", "clew", nil, "proxy", "--listen", socket("proxy"), addr)
	}
	client := session{tool: "dlv", args: []string{"connect", addr}, script: script}
	out, code := client.end(t)
	return strings.ReplaceAll(out, addr, "ADDRESS") + fmt.Sprintf("\nexit code %d", code)
}

// TestConnectPlain: in a program of Go's only, `dlv connect` shows the same to the last byte on dlv's
// port, through clew proxy, and on clew's own port.
func TestConnectPlain(t *testing.T) {
	need(t)
	exe, err := plain()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range plainScripts(starScript(t)) {
		t.Run(tt.name, func(t *testing.T) {
			want := masked(plainServer.connect(t, nil, tt.script, exe, tt.args...))
			if strings.Count(want, "\n") < len(tt.script) {
				t.Fatalf("dlv says next to nothing:\n%s", want)
			}
			for _, s := range []server{proxied, ownServer} {
				if got := masked(s.connect(t, nil, tt.script, exe, tt.args...)); got != want {
					t.Errorf("%s: first difference: %s", s.name, firstDifference(want, got))
				}
			}
		})
	}
}

// TestConnectNative: in a program with C code, `dlv connect` shows the same to the last byte through clew
// proxy and on clew's own port: the stack of `clew stack`, by the same numbers everywhere.
func TestConnectNative(t *testing.T) {
	need(t)
	// A plain server stops at an int3 only where its debug information names a function.
	for variant, scenarios := range map[string][]string{"static-O1-g-fp": {"plain", "nested"}, "linked-O2-omit-stripped": {"callback"}} {
		p := native(t, variant)
		for _, scenario := range scenarios {
			t.Run(variant+"/"+scenario, func(t *testing.T) {
				testkit.SameAddresses(t)
				args := []string{scenario, "int3", filepath.Join(t.TempDir(), "record")}
				want := assembled(t, p, args...)
				script := append(frameScript(len(want.Frames)), "stack 300 -offsets", "stack 300 -defer", "threads", "goroutine", "goroutines")
				if scenario == "callback" { // what C has not set yet is another number in each run
					script = append(script, "stack 300 -full", "frame 0 args")
				}
				var got, own string
				for try := 0; try < 3 && (try == 0 || settled(got) != settled(own)); try++ { // the runtime's own goroutines may be elsewhere
					got, own = proxied.connect(t, p.Env(), script, p.Path, args...), ownServer.connect(t, p.Env(), script, p.Path, args...)
				}
				checkFrames(t, got, &want)
				if settled(got) != settled(own) {
					t.Errorf("first difference: %s", firstDifference(settled(own), settled(got)))
				}
				plain := framesOf(t, plainServer.connect(t, p.Env(), script, p.Path, args...))
				if slices.Equal(plain[0], framesOf(t, got)[0]) {
					t.Error("this proves little: dlv has the same frames itself")
				}
			})
		}
	}
}

// otherThread is a line about a thread that the session is not about: the runtime's own threads go on meanwhile.
var otherThread = regexp.MustCompile(`(?m)^  Thread ID at .*\n`)

// runtimes are the lines about a goroutine of the runtime's own, which may not have begun its wait yet: where it is, and its stack.
var runtimes = regexp.MustCompile(`(?m)^(  Goroutine \d+ - User: )\S*/src/runtime/.*(?:\n\t.*)*`)

func settled(out string) string {
	return runtimes.ReplaceAllString(otherThread.ReplaceAllString(masked(out), ""), "$1the runtime's own")
}

// TestConnectSteps: through clew proxy a step out leads to the caller that the stack has shown, or is refused where
// dlv would lead elsewhere, and the program ends well.
func TestConnectSteps(t *testing.T) {
	need(t)
	p := native(t, "static-O1-g-fp")
	args := []string{"plain", "int3", filepath.Join(t.TempDir(), "record")}
	out := proxied.connect(t, p.Env(), stepScript(), p.Path, args...)
	if refused := checkSteps(t, out); refused == 0 {
		t.Error("no step is refused: dlv's stack is right here")
	}
	if !strings.Contains(out, "has exited with status 0") {
		t.Errorf("the program is damaged:\n%s", out)
	}
}

// TestConnectVariables: through clew proxy, the variables of a frame are those that clew's own port shows under the same
// number, also where Delve has no such frame.
func TestConnectVariables(t *testing.T) {
	need(t)
	exe := through(t)
	script := []string{"continue"}
	const frames = 12
	for i := range frames {
		for _, what := range []string{"locals", "args", "print n", "list", "regs"} {
			script = append(script, fmt.Sprintf("frame %d %s", i, what), "print 47110815")
		}
	}
	answers := func(s server) []string { return strings.Split(masked(s.connect(t, nil, script, exe)), "\n47110815\n") }
	got, own := answers(proxied), answers(ownServer)
	if len(got) != len(script)/2+1 || len(own) != len(got) {
		t.Fatalf("%d and %d answers to %d questions", len(got), len(own), len(script)/2)
	}
	for i := range got {
		if got[i] != own[i] {
			t.Errorf("%s: %s\nclew's own port: %s", script[2*i+1], got[i], own[i])
		}
	}
}
