package dap

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/debuggee"
	"github.com/clewdbg/clew/server/dap/frames"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/stop/stoptest"
	"github.com/clewdbg/clew/unwind"
)

func (s *played) threads() []dap.Thread {
	s.t.Helper()
	var body struct{ Threads []dap.Thread }
	m := s.request("threads", struct{}{})
	if err := m.Decode("body", &body); err != nil || !m.Success {
		s.t.Fatalf("%s, %v", m.Bytes(), err)
	}
	return body.Threads
}

// TestListedThreads: threads without a goroutine are listed besides Delve's; where
// Delve lists nothing, so are goroutines.
func TestListedThreads(t *testing.T) {
	const c = debuggee.FirstID + stoptest.CThread
	s := playProgram(t, stoptest.New(5), unwind.TrustCFI)
	want := []dap.Thread{{Id: 1, Name: "* [Go 1] main.climb (Thread 100)"}, {Id: 2, Name: "[Go 2] main.climb"}, {Id: c, Name: "[Thread 200] leaf"}}
	if got := s.threads(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	library := stoptest.New(5)
	library.Library = true
	s = playProgram(t, library, unwind.TrustCFI)
	if got := s.threads(); !slices.Equal(got, want) {
		t.Errorf("of a library: %+v", got)
	}
	// Delve takes a word of the thread's memory for a goroutine.
	library = stoptest.New(5)
	library.Library, library.Selection = true, reading.Selection{Goroutine: 77, Thread: stoptest.CThread}
	s = playProgram(t, library, unwind.TrustCFI)
	want = []dap.Thread{{Id: 1, Name: "[Go 1] main.climb (Thread 100)"}, {Id: 2, Name: "[Go 2] main.climb"}, {Id: 77, Name: "* [Thread 200] leaf"}}
	if got := s.threads(); !slices.Equal(got, want) {
		t.Errorf("of a library, with a wrong goroutine: %+v", got)
	}
}

// TestStoppedThread: a stop that is about no goroutine names its thread.
func TestStoppedThread(t *testing.T) {
	program := stoptest.New(5)
	program.Selection = reading.Selection{Thread: stoptest.CThread}
	s := playProgram(t, program, unwind.TrustCFI)
	s.events <- `{"seq":1,"type":"event","event":"stopped","body":{"reason":"breakpoint","threadId":0}}`
	var body struct{ ThreadID int64 }
	if m := s.message(); m.Decode("body", &body) != nil || body.ThreadID != debuggee.FirstID+stoptest.CThread {
		t.Errorf("%s", m.Bytes())
	}
}

// TestScopesOfClewsFrame: a frame that only clew knows has its registers, and how
// it was found; one without DWARF says so.
func TestScopesOfClewsFrame(t *testing.T) {
	s := playProgram(t, stoptest.New(10), unwind.TrustCFI)
	frames, _ := s.page(debuggee.FirstID+stoptest.CThread, 0, 10)
	var scopes struct{ Scopes []dap.Scope }
	if m := s.request("scopes", map[string]int64{"frameId": frames[3].ID}); m.Decode("body", &scopes) != nil || len(scopes.Scopes) != 3 {
		t.Fatalf("%s", m.Bytes())
	}
	for i, want := range map[int]string{0: "…", 1: "rsp", 2: "strategy"} {
		m := s.request("variables", map[string]int{"variablesReference": scopes.Scopes[i].VariablesReference})
		var vars struct{ Variables []dap.Variable }
		if m.Decode("body", &vars) != nil || !slices.ContainsFunc(vars.Variables, func(v dap.Variable) bool { return v.Name == want }) {
			t.Errorf("%s: %s", scopes.Scopes[i].Name, m.Bytes())
		}
	}
}

// TestClewStackOfThread: clew/stack has the evidence for each frame, with the
// indices that the frames have in the stack.
func TestClewStackOfThread(t *testing.T) {
	s := playProgram(t, stoptest.New(10), unwind.TrustCFI)
	m := s.request("clew/stack", frames.Page{ThreadID: debuggee.FirstID + stoptest.CThread, StartFrame: 4, Levels: 3})
	var body struct {
		Frames []struct {
			Index    int
			Strategy string
		}
		Segments []json.RawMessage
	}
	// Delve was asked whether the program stands still: about the selected goroutine.
	if m.Decode("body", &body) != nil || len(body.Frames) != 3 || body.Frames[0].Index != 4 || body.Frames[0].Strategy != stoptest.StrategyName || len(body.Segments) != 1 {
		t.Errorf("%s", m.Bytes())
	}
	if m := s.request("clew/stack", frames.Page{ThreadID: 77}); m.Success || !strings.Contains(string(m.Bytes()), "no goroutine 77") {
		t.Errorf("%s", m.Bytes())
	}
}
