package dap

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/integration/internal/scenario"
	"github.com/clewdbg/clew/internal/testneed"
)

// serving starts a headless server as a debugger's exec command does.
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
				c.inspectStop(thread)
				for _, step := range []string{"next", "next", "stepIn", "stepOut"} {
					c.ok(step, object{"threadId": thread})
					thread = threadOf(t, c.event("stopped"))
					c.stack(thread, 0, 20)
				}
				if flags != nil {
					other := s.dial()
					other.inspectStop(threadOf(t, other.remote(object{"stopOnEntry": true})))
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
				for _, d := range scenario.Compare(want[i].all, got[i].all) {
					t.Error(d)
				}
			}
		})
	}
}

// TestHeadlessStacks: an editor that connects to a headless server of clew's sees
// the stack that the program recorded, has the frames of clew dap, and
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

// TestHeadlessOtherWrites: a value that one editor writes to the stack is in the rows that another
// gets of it at the same stop.
func TestHeadlessOtherWrites(t *testing.T) {
	testneed.Ptrace(t)
	v, ok := program.Named("static-O2-omit")
	if !ok {
		t.Fatal("no such program")
	}
	sc := program.Scenarios[1]
	p := native(t, v.Name)
	s := serving(t, binary("clew"), p.Library, []string{"--accept-multiclient"}, p.Path, sc.Name, sc.Stop, filepath.Join(t.TempDir(), "record"))
	c := s.dial()
	thread := threadOf(t, c.remote(nil))
	other := s.dial()
	other.remote(object{"stopOnEntry": true})
	c.overwritten(thread, other)
	other.ok("disconnect", nil)
	c.disconnect()
}

// TestOwnWrites is the same with one editor, which asks for the rows again and again.
func TestOwnWrites(t *testing.T) {
	testneed.Ptrace(t)
	p := native(t, "static-O2-omit")
	c := start(t, binary("clew")).dial()
	sc := program.Scenarios[1]
	thread := threadOf(t, c.launch(object{"mode": "exec", "program": p.Path, "args": []string{sc.Name, sc.Stop, filepath.Join(t.TempDir(), "record")}}))
	c.overwritten(thread, c)
	c.disconnect()
}

// overwritten has a client, the other one, write to a return address, and put it back.
func (c *client) overwritten(thread int64, other *client) {
	t := c.t
	t.Helper()
	before := c.stack(thread, 0, 0)
	var evidence struct{ Frames []struct{ CFA, PC string } }
	decode(t, c.request("clew/stack", object{"threadId": thread}), &evidence)
	cfa, err := strconv.ParseUint(evidence.Frames[0].CFA, 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	pc, err := strconv.ParseUint(evidence.Frames[1].PC, 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	var slot struct{ VariablesReference int64 }
	decode(t, other.request("evaluate", object{"expression": fmt.Sprintf("*(*[1]uint64)(%#x)", cfa-8)}), &slot)
	write := func(value uint64) {
		other.ok("setVariable", object{"variablesReference": slot.VariablesReference, "name": "[0]", "value": strconv.FormatUint(value, 10)})
	}
	write(0)
	for i, f := range c.stack(thread, 0, 0).StackFrames {
		if i > 0 && f.PC == before.StackFrames[1].PC {
			t.Errorf("frame %d is still there, though its return address was overwritten: %+v", i, f)
		}
	}
	write(pc)
	after := c.stack(thread, 0, 0)
	if len(after.StackFrames) != len(before.StackFrames) || after.StackFrames[1].PC != before.StackFrames[1].PC {
		t.Errorf("with the return address back: %+v\nbefore: %+v", after.StackFrames, before.StackFrames)
	}
}
