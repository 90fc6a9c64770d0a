package terminal

import (
	"errors"
	"math"
	"testing"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/server/stop/stoptest"
	"github.com/clewdbg/clew/unwind"
)

const firstOffset = math.MinInt32

// fakeMethods are Delve's methods, with the stacks that the program's debugger claims;
// those that no test expects to be called are nil.
type fakeMethods struct {
	delveMethods
	program   *stoptest.Program
	running   bool
	failures  int // of the next stacks
	asked     []rpc2.StacktraceIn
	evaluated []api.EvalScope
}

func (m *fakeMethods) IsRunning() bool { return m.running }
func (m *fakeMethods) ProcessPid() int { return m.program.Pid() }

// Stacktrace marks each frame as Delve's, by a FrameOffset below firstOffset by its index.
func (m *fakeMethods) Stacktrace(arg rpc2.StacktraceIn, out *rpc2.StacktraceOut) error {
	m.asked = append(m.asked, arg)
	if m.failures > 0 {
		m.failures--
		return errFake
	}
	key := stop.Key{Goroutine: uint64(max(arg.Id, 0))}
	if arg.Id <= 0 {
		key = stop.Key{Goroutine: m.program.Selection.Goroutine, Thread: m.program.Selection.Thread}
	}
	frames := m.program.DelveFrames(key)
	for i := range frames[:max(min(arg.Depth+1, len(frames)), 0)] {
		var f api.Stackframe
		f.PC, f.File, f.FrameOffset = frames[i].PC.Raw(), "delve", firstOffset-int64(i)
		f.Function = &api.Function{Name_: "delve.f"}
		out.Locations = append(out.Locations, f)
	}
	return nil
}

// depths are those of the stacks that Delve was asked for.
func (m *fakeMethods) depths() (out []int) {
	for _, arg := range m.asked {
		out = append(out, arg.Depth)
	}
	return out
}

func (m *fakeMethods) Eval(arg rpc2.EvalIn, _ *rpc2.EvalOut) error {
	m.evaluated = append(m.evaluated, arg.Scope)
	return nil
}

// fakeSession is a server over a fake program.
type fakeSession struct {
	*server
	program *stoptest.Program
	methods *fakeMethods
	opened  int // how often strategies were opened
}

func newFake(t *testing.T, frames int) *fakeSession {
	p := stoptest.New(frames)
	f := &fakeSession{program: p, methods: &fakeMethods{program: p}}
	stacks := stop.NewStacks(stop.StacksOptions{Strategies: func() ([]engine.Named, func(), error) {
		f.opened++
		return stoptest.Strategies(unwind.TrustCFI), func() {}, nil
	}}, func() uint64 { return 0 })
	stacks.Watch(p, p)
	f.server = &server{process: f.methods, delve: f.methods, stacks: stacks, session: new(delve.Session), pid: p.Pid()}
	t.Cleanup(stacks.Close)
	return f
}

// trace returns the stack that a client is shown.
func (f *fakeSession) trace(t *testing.T, arg rpc2.StacktraceIn) []api.Stackframe {
	t.Helper()
	var out rpc2.StacktraceOut
	if err := f.stacktrace(arg, &out); err != nil {
		t.Fatal(err)
	}
	return out.Locations
}

// lines are the indexes of frames in Delve's stack, -1 for clew's frames.
func lines(frames []api.Stackframe) (out []int) {
	for i := range frames {
		n := -1
		if frames[i].FrameOffset <= firstOffset {
			n = int(firstOffset - frames[i].FrameOffset)
		}
		out = append(out, n)
	}
	return out
}

// selectC selects the thread in C code.
func (f *fakeSession) selectC() { f.program.Selection = reading.Selection{Thread: stoptest.CThread} }

var errFake = errors.New("cannot be read")
