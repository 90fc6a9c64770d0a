package terminal

import (
	"slices"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/internal/printable"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/delve/delvelog"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/server/values"
	"github.com/clewdbg/clew/unwind"
)

// stacktrace returns the assembled stack. Requests that ask for Delve's walk without
// its stack switches are answered by Delve.
func (s *server) stacktrace(arg rpc2.StacktraceIn, out *rpc2.StacktraceOut) error {
	s.gate.Lock()
	defer s.gate.Unlock()
	arg.Depth = min(arg.Depth, maxDepth-1)
	if arg.Depth < 0 || arg.Opts&(api.StacktraceSimple|api.StacktraceG) != 0 || !s.readable() {
		return s.delve.Stacktrace(arg, out)
	}
	frames, err := s.frames(&arg)
	if err != nil {
		logFallback("Stacktrace", err)
		return s.delve.Stacktrace(arg, out)
	}
	out.Locations = frames[min(max(arg.Skip, 0), len(frames)):]
	return nil
}

// frames returns the frames that a request asks for, those to skip included.
func (s *server) frames(arg *rpc2.StacktraceIn) ([]api.Stackframe, error) {
	stack, known, err := s.stack(arg)
	if err != nil || stack == nil {
		return known, err
	}
	last := -1 // of Delve's frames, the one that the stack refers to
	for i := range stack.Frames[:min(len(stack.Frames), arg.Depth+1)] {
		last = max(last, stack.Frames[i].DelveFrame)
	}
	if last >= 0 {
		if known, err = delveFrames(s, arg, last); err != nil {
			return nil, err
		}
	}
	out := s.convert(stack, known, arg.Depth)
	if arg.Cfg != nil {
		s.fill(out, stack, arg.Cfg)
	}
	return out, nil
}

// fill puts variables into the frames of native code: those of Delve do not count.
func (s *server) fill(frames []api.Stackframe, stack *stop.Stack, cfg *api.LoadConfig) {
	for i := range frames[:min(len(frames), len(stack.Frames))] {
		f := &frames[i]
		native, err := s.stacks.InNative(stack, i, func(in *values.Frame) (err error) {
			if f.Arguments, err = listed(in, (*values.Frame).Arguments, cfg); err == nil {
				f.Locals, err = listed(in, (*values.Frame).Locals, cfg)
			}
			return err
		})
		if native && err != nil {
			f.Arguments, f.Locals = nil, nil
		}
	}
}

// delveFrames returns Delve's frames, to a depth.
func delveFrames(s *server, arg *rpc2.StacktraceIn, depth int) ([]api.Stackframe, error) {
	request, out := *arg, rpc2.StacktraceOut{}
	request.Depth, request.Skip = depth, 0
	err := s.delve.Stacktrace(request, &out)
	return out.Locations, err
}

// maxDepth bounds what one request can ask for.
const maxDepth = stop.MaxClaims

// logFallback logs that the client gets Delve's answer, and why.
func logFallback(what string, err error) {
	delvelog.RPC("%s is Delve's own: %v", what, err)
}

// stack returns the assembled stack, with at least the frames that a request asks
// for if it has them. Where Delve's stack is the same, stack is nil and known is
// Delve's, to that depth. The caller holds the gate.
func (s *server) stack(arg *rpc2.StacktraceIn) (stack *stop.Stack, known []api.Stackframe, err error) {
	frames := arg.Depth + 1
	g, err := s.stacks.GoStack(arg.Id, frames)
	if err != nil {
		return nil, nil, err
	}
	if g != nil {
		// Delve allocates all frames that it is asked for before it walks, so it is asked
		// for one more than Go's tables have: that one shows whether it has more.
		if known, err = delveFrames(s, arg, min(arg.Depth, len(g.Frames))); err == nil && same(g, known, frames) {
			return nil, known, nil
		}
	}
	stack, err = s.stacks.Whole(arg.Id, frames)
	return stack, nil, err
}

// same reports whether Delve's stack is that of Go's tables.
func same(g *stop.Stack, known []api.Stackframe, frames int) bool {
	failed := slices.ContainsFunc(known, func(f api.Stackframe) bool { return f.Err != "" })
	return !failed && g.Same(0, frames, len(known), func(i int) uint64 { return known[i].PC })
}

// convert returns a stack's frames as Delve's interface has them, to a depth. known
// are Delve's frames. The words for a frame are those of `clew stack`.
func (s *server) convert(stack *stop.Stack, known []api.Stackframe, depth int) []api.Stackframe {
	end := min(len(stack.Frames), depth+1)
	out := make([]api.Stackframe, 0, end+1)
	for i := range stack.Frames[:end] {
		f := &stack.Frames[i]
		var frame api.Stackframe
		if n := f.DelveFrame; n >= 0 && n < len(known) && known[n].PC == f.PC.Raw() {
			frame = known[n]
		} else {
			frame = convertOwn(stack, f)
		}
		frame.Location = marked(s.inWords(frame.Location, f), f.Trust)
		frame.Bottom = stack.Stop == unwind.End && i+1 == len(stack.Frames)
		out = append(out, frame)
	}
	if end < len(stack.Frames) || end > depth {
		return out
	}
	if stack.CutOff() {
		out = append(out, api.Stackframe{Err: "truncated: " + printable.Line(stack.Reason)})
	}
	for _, note := range stack.Notes {
		if assembler.LeftOut(note) { // or trust changes from stop to stop without a reason
			out = append(out, api.Stackframe{Err: printable.Line(note)})
		}
	}
	return out
}

// convertOwn converts a frame that Delve does not have. Off the goroutine's stack its
// offsets are absolute, as Delve's are.
func convertOwn(stack *stop.Stack, f *unwind.Frame) api.Stackframe {
	frame := api.Stackframe{FrameOffset: int64(f.CFA)}
	frame.PC = f.PC.Raw()
	if fp, ok := f.Registers.FP(stack.Arch); ok {
		frame.FramePointerOffset = int64(fp)
	}
	if f.Segment >= 0 && f.Segment < len(stack.Thread.Segments) && stack.Thread.Segments[f.Segment].Kind == unwind.SegmentGoroutine {
		high := int64(stack.Thread.Segments[f.Segment].High)
		frame.FrameOffset -= high
		frame.FramePointerOffset -= high
	}
	return frame
}

// What Delve shows for a frame without a source line.
const (
	unknownFile = "?"
	unknownLine = -1
)

// inWords returns a location with a frame's name and source line. One that clew has no
// name for stays as it is.
func (s *server) inWords(loc api.Location, f *unwind.Frame) api.Location {
	name := s.nameOf(f)
	if f.Function != "" {
		loc.File, loc.Line = f.File, f.Line
	}
	if loc.File == "" {
		loc.File, loc.Line = unknownFile, unknownLine // or the terminal shows no function
	}
	return renamed(loc, name)
}

// renamed returns a location whose function has another name.
func renamed(loc api.Location, name string) api.Location {
	if name == "" || name == loc.Function.Name() {
		return loc
	}
	var fn api.Function
	if loc.Function != nil {
		fn = *loc.Function
	}
	fn.Name_ = name
	loc.Function = &fn
	return loc
}

// marked returns a location with a mark if the frame is uncertain.
func marked(loc api.Location, t unwind.Trust) api.Location {
	return renamed(loc, loc.Function.Name()+marks[t.Weakness()])
}

// marks are those of uncertain frames by the weakness of their evidence, which they name.
var marks = [...]string{"", " [by frame pointer]", " [scanned: may be wrong]"}

// nameOf returns a frame's function, else its image and offset.
func (s *server) nameOf(f *unwind.Frame) string { return printable.Text(s.names.Frame(f)) }
