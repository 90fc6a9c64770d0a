package assembler

import "github.com/clewdbg/clew/unwind"

// Sink takes a stack's frames as they are found, innermost first and complete:
// for stacks so deep that they must not be held whole. It must not keep the
// slice. The Stack that is returned in the end holds none of them.
type Sink func(frames []unwind.Frame)

// A walk with a sink holds at least keepFrames of the last frames, which is more
// than any rule looks back on (limits of scans in a row, Go's scheduler), and at
// most sinkFrames more, besides one run.
const (
	keepFrames = 1024
	sinkFrames = 4096
)

// drain passes all frames but the last on to the sink, when there are many.
func (w *walker) drain() {
	if n := len(w.stack.Frames); w.opts.Sink != nil && n >= keepFrames+sinkFrames {
		w.pass(n - keepFrames)
	}
}

// pass hands the sink the first n frames that are held, inlined ones put in.
func (w *walker) pass(n int) {
	part := unwind.Stack{Frames: w.stack.Frames[:n:n]}
	stitch(w.target.Arch, &part, w.thread.Claims)
	w.opts.Sink(part.Frames)
	rest := copy(w.stack.Frames, w.stack.Frames[n:])
	clear(w.stack.Frames[rest:])
	w.stack.Frames = w.stack.Frames[:rest]
	w.passed += n
}

// depth is how many frames the stack has so far.
func (w *walker) depth() int { return w.passed + len(w.stack.Frames) }
