package dap

import (
	"path/filepath"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
)

// serving starts a headless server as a debugger's exec command gives it.
func serving(t testing.TB, tool, library string, flags []string, program string, args ...string) *server {
	t.Helper()
	line := append([]string{"NATIVE_LIBRARY=" + library, tool, "exec", program, "--headless", "--listen=127.0.0.1:0"}, flags...)
	return startAny(t, headlessBanner, "env", append(append(line, "--"), args...)...)
}

// TestHeadlessIsDelves: an editor that connects to a headless server of clew's has
// the session that it has with dlv's; with several clients, a second one too.
func TestHeadlessIsDelves(t *testing.T) {
	testneed.Ptrace(t)
	exe, source := plain(t)
	at := line(t, source, breakpointText)
	for name, flags := range map[string][]string{"one": nil, "several": {"--accept-multiclient"}} {
		t.Run(name, func(t *testing.T) {
			session := func(tool string) (all []*client) {
				s := serving(t, tool, "", flags, exe, "work")
				c := s.dial()
				c.initialize()
				c.ok("attach", object{"mode": "remote", "stopOnEntry": true})
				c.event("initialized")
				c.ok("setBreakpoints", breakpoints(source, at))
				c.ok("configurationDone", nil)
				c.event("stopped")
				c.ok("continue", object{"threadId": 1})
				thread := threadOf(t, c.event("stopped"))
				c.look(thread)
				for _, step := range []string{"next", "next", "stepIn", "stepOut"} {
					c.ok(step, object{"threadId": thread})
					thread = threadOf(t, c.event("stopped"))
					c.stack(thread, 0, 20)
				}
				if flags != nil {
					other := s.dial()
					other.look(threadOf(t, other.remote(object{"stopOnEntry": true})))
					other.ok("disconnect", nil) // the program stays as it is
					other.end()
					all = append(all, other)
				} else {
					c.ok("setBreakpoints", breakpoints(source))
					c.ok("continue", object{"threadId": thread})
					c.event("terminated")
				}
				c.ok("disconnect", object{"terminateDebuggee": true})
				c.end()
				if err := s.wait(); err != nil {
					t.Errorf("%s ends with %v: %s", filepath.Base(tool), err, s.stderr)
				}
				return append(all, c)
			}
			dlv, clew := peers(t)
			want, got := session(dlv), session(clew)
			for i := range want {
				if !t.Failed() {
					transcribe(t, want[i], dlvs).compare(t, transcribe(t, got[i], intended))
				}
			}
		})
	}
}

// TestHeadlessStacks: an editor that connects to a headless server of clew's sees
// the stack that the program recorded, has what clew dap gives of its frames, and
// is not misled when another client has let the program run.
func TestHeadlessStacks(t *testing.T) {
	testneed.Ptrace(t)
	for name, i := range map[string]int{"static-O2-omit": 1, "linked-O2-omit-stripped": 4, "static-O1-g-fp": 2} {
		v, ok := program.Named(name)
		if !ok {
			t.Fatal(name)
		}
		sc := program.Scenarios[i]
		t.Run(name+"/"+sc.Name+"-"+sc.Stop, func(t *testing.T) {
			t.Parallel()
			p := native(t, v.Name)
			stem := filepath.Join(t.TempDir(), "record")
			s := serving(t, binary("clew"), p.Library, []string{"--accept-multiclient"}, p.Path, sc.Name, sc.Stop, stem)
			c := s.dial()
			thread := threadOf(t, c.remote(nil))
			c.sameAsRecorded(t, thread, v, sc, stem)
			before := c.stack(thread, 0, 0)
			if text, err := connect(t, s.addr, "next\nexit\nn\n"); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			after := c.stack(thread, 0, 0)
			if len(after.StackFrames) < 3 || after.StackFrames[0].PC == before.StackFrames[0].PC || after.StackFrames[0].ID == before.StackFrames[0].ID {
				t.Errorf("before a step of another client: %+v\nafter it: %+v", before.StackFrames[0], after.StackFrames)
			}
			c.disconnect()
			if err := s.wait(); err != nil {
				t.Errorf("it ends with %v: %s", err, s.stderr)
			}
		})
	}
}
