package terminal

import (
	"errors"
	"math"
	"testing"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/server/stop/stoptest"
	"github.com/clewdbg/clew/unwind"
)

// fakeWalker has the stacks that the program's debugger claims.
type fakeWalker struct {
	program *stoptest.Program
	running bool
	err     error
	depths  []int // of each request
}

func (w *fakeWalker) IsRunning() bool { return w.running }
func (w *fakeWalker) ProcessPid() int { return w.program.Pid() }

func (w *fakeWalker) Stacktrace(goroutine int64, depth int, _ api.StacktraceOptions) (out []proc.Stackframe, err error) {
	w.depths = append(w.depths, depth)
	if w.err != nil {
		return nil, w.err
	}
	key := stop.Key{Goroutine: uint64(max(goroutine, 0))}
	if goroutine <= 0 {
		key = stop.Key{Goroutine: w.program.Selection.Goroutine, Thread: w.program.Selection.Thread}
	}
	frames := w.program.DelveFrames(key)
	for i := range frames[:min(depth+1, len(frames))] {
		out = append(out, proc.Stackframe{Current: proc.Location{PC: frames[i].PC.Raw(), Line: i}})
	}
	return out, nil
}

// ConvertStacktrace marks each frame as Delve's, by a FrameOffset below firstOffset by its index.
func (w *fakeWalker) ConvertStacktrace(raw []proc.Stackframe, _ *proc.LoadConfig) (out []api.Stackframe, err error) {
	for i := range raw {
		var f api.Stackframe
		f.PC, f.File, f.FrameOffset = raw[i].Current.PC, "delve", firstOffset-int64(raw[i].Current.Line)
		f.Function = &api.Function{Name_: "delve.f"}
		out = append(out, f)
	}
	return out, nil
}

const firstOffset = math.MinInt32

// fakeMethods are Delve's methods; those that no test expects to be called are nil.
type fakeMethods struct {
	delveMethods
	stacktraces int
	evaluated   []api.EvalScope
}

func (m *fakeMethods) Stacktrace(_ rpc2.StacktraceIn, out *rpc2.StacktraceOut) error {
	m.stacktraces++
	out.Locations = delves(0x99)
	return nil
}

func (m *fakeMethods) Eval(arg rpc2.EvalIn, _ *rpc2.EvalOut) error {
	m.evaluated = append(m.evaluated, arg.Scope)
	return nil
}

// fakeSession is a server over a fake program.
type fakeSession struct {
	*server
	program *stoptest.Program
	walker  *fakeWalker
	methods *fakeMethods
	opened  int // how often strategies were opened
}

func newFake(t *testing.T, frames int) *fakeSession {
	p := stoptest.New(frames)
	f := &fakeSession{program: p, walker: &fakeWalker{program: p}, methods: new(fakeMethods)}
	stacks := stop.NewStacks(stop.StacksOptions{Strategies: func() ([]engine.Named, func(), error) {
		f.opened++
		return stoptest.Strategies(unwind.TrustCFI), func() {}, nil
	}}, func() uint64 { return 0 })
	stacks.Watch(p, p)
	f.server = &server{walker: f.walker, delve: f.methods, stacks: stacks, session: new(delve.Session), pid: p.Pid()}
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
func (f *fakeSession) selectC() { f.program.Selection = delve.Selection{Thread: stoptest.CThread} }

var errFake = errors.New("cannot be read")
