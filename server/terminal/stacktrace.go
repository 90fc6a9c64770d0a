package terminal

import (
	"strings"
	"unicode"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/stop"
	"github.com/clewdbg/clew/unwind"
)

// stacktrace returns the assembled stack. The modes that take stack switches out of
// Delve's own walk are about that walk, and stay Delve's.
func (s *server) stacktrace(arg rpc2.StacktraceIn, out *rpc2.StacktraceOut) error {
	s.gate.Lock()
	defer s.gate.Unlock()
	arg.Depth = min(arg.Depth, maxDepth-1)
	if arg.Depth < 0 || arg.Opts&(api.StacktraceSimple|api.StacktraceG) != 0 || !s.looks() {
		return s.delve.Stacktrace(arg, out)
	}
	frames, err := s.frames(&arg)
	if err != nil {
		s.fell("Stacktrace", err)
		return s.delve.Stacktrace(arg, out)
	}
	out.Locations = frames[min(max(arg.Skip, 0), len(frames)):]
	return nil
}

// frames returns the frames that a request asks for, those to skip included.
func (s *server) frames(arg *rpc2.StacktraceIn) ([]api.Stackframe, error) {
	opts, cfg := arg.Opts, api.LoadConfigToProc(arg.Cfg)
	if arg.Defers {
		opts |= api.StacktraceReadDefers
	}
	if cfg == nil && arg.Full {
		full := proc.LoadFullValue()
		cfg = &full
	}
	stack, raw, err := s.stack(arg.Id, arg.Depth+1, opts)
	switch {
	case err != nil:
		return nil, err
	case stack == nil && arg.Skip > 0 && arg.Skip < len(raw): // those need no variables
		frames, err := s.dbg.ConvertStacktrace(raw[arg.Skip:], cfg)
		return append(make([]api.Stackframe, arg.Skip), frames...), err
	case stack == nil:
		return s.dbg.ConvertStacktrace(raw, cfg)
	}
	if raw, err = s.claimed(stack, arg, opts); err != nil {
		return nil, err
	}
	known, err := s.dbg.ConvertStacktrace(raw, cfg)
	if err != nil {
		return nil, err
	}
	return convert(stack, known, arg.Depth), nil
}

// maxDepth bounds what one request can ask for.
const maxDepth = 1 << 24

// fell logs that Delve's own answer goes out, and why.
func (s *server) fell(what string, err error) {
	delve.LogRPC("%s is Delve's own: %v", what, err)
}

// stack returns the assembled stack with at least so many frames, if it has them.
// Where Delve's own is the same it is nil, and raw is that one, not deeper. The
// gate is held.
func (s *server) stack(goroutine int64, frames int, opts api.StacktraceOptions) (stack *stop.Stack, raw []proc.Stackframe, err error) {
	g, err := s.stacks.GoStack(goroutine, frames)
	if err != nil {
		return nil, nil, err
	}
	if g != nil {
		// Delve takes the memory for all that it is asked for before it walks; one more
		// than there are shows whether it has more.
		if raw, err = s.dbg.Stacktrace(goroutine, min(frames-1, len(g.Frames)), opts); err == nil && same(g, raw, frames) {
			return nil, raw, nil
		}
	}
	stack, err = s.stacks.Whole(goroutine, frames)
	return stack, nil, err
}

// same says that Delve's own stack is that of Go's tables, frame by frame from
// the innermost on. What may go wrong: two different chains could show the same
// return addresses for a while, within a recursion of which one side has skipped
// a level. Between Go functions neither does.
func same(g *stop.Stack, raw []proc.Stackframe, frames int) bool {
	want := g.Frames[:min(frames, len(g.Frames))]
	if len(raw) != len(want) {
		return false
	}
	for i := range want {
		if raw[i].Current.PC != want[i].PC.Raw() || raw[i].Err != nil {
			return false
		}
	}
	return true
}

// claimed returns as many of Delve's own frames as the stack's need.
func (s *server) claimed(stack *stop.Stack, arg *rpc2.StacktraceIn, opts api.StacktraceOptions) ([]proc.Stackframe, error) {
	last := -1
	for i := range stack.Frames[:min(len(stack.Frames), arg.Depth+1)] {
		last = max(last, stack.Frames[i].DelveFrame)
	}
	if last < 0 {
		return nil, nil
	}
	return s.dbg.Stacktrace(arg.Id, last, opts)
}

// convert returns a stack's frames as Delve's interface has them, to a depth. known
// are Delve's own.
func convert(stack *stop.Stack, known []api.Stackframe, depth int) []api.Stackframe {
	end := min(len(stack.Frames), depth+1)
	out := make([]api.Stackframe, 0, end+1)
	for i := range stack.Frames[:end] {
		f := &stack.Frames[i]
		var frame api.Stackframe
		if n := f.DelveFrame; n >= 0 && n < len(known) && known[n].PC == f.PC.Raw() {
			frame = known[n]
		} else {
			frame = ownFrame(stack, f)
		}
		frame.Location = named(frame.Location, f)
		frame.Bottom = stack.Stop == unwind.End && i+1 == len(stack.Frames)
		out = append(out, frame)
	}
	if cutOff(&stack.Stack) && end == len(stack.Frames) && end <= depth {
		out = append(out, api.Stackframe{Err: "truncated: " + plain(stack.Reason)})
	}
	return out
}

// cutOff says that the stack ends before its outermost frame, and not because no
// more was asked for.
func cutOff(s *unwind.Stack) bool { return s.Stop == unwind.Truncated && !s.DepthLimited }

// ownFrame is a frame that Delve does not have. Its offsets are absolute, as
// Delve's are off the goroutine's stack.
func ownFrame(stack *stop.Stack, f *unwind.Frame) api.Stackframe {
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
	frame.File, frame.Line = placeOf(f)
	return frame
}

// Delve's words for a frame without a source line.
const (
	unknownFile = "?"
	unknownLine = -1
)

// placeOf is a frame's source line, in Delve's words where there is none.
func placeOf(f *unwind.Frame) (file string, line int) {
	if f.File == "" || f.Line <= 0 {
		return unknownFile, unknownLine
	}
	return f.File, f.Line
}

// named returns a location the name that clew has, where Delve has none, and a mark
// where the frame is not as good as certain.
func named(loc api.Location, f *unwind.Frame) api.Location {
	var fn api.Function
	if loc.Function != nil {
		fn = *loc.Function
	} else if name := nameOf(f); name != "" {
		fn.Name_ = name
	}
	mark := markOf(f.Trust)
	if fn.Name_ == "" && mark == "" {
		return loc
	}
	if fn.Name_ == "" {
		fn.Name_ = loc.Function.Name() // Delve's word for what has no name
	}
	fn.Name_ += mark
	loc.Function = &fn
	return loc
}

// markOf says what a frame rests on, "" for what is as good as certain.
func markOf(t unwind.Trust) string {
	switch t {
	case unwind.TrustContext, unwind.TrustCFI:
		return ""
	case unwind.TrustFramePointer:
		return " [by frame pointer]"
	}
	return " [scanned: may be wrong]"
}

// nameOf is a frame's function, else its image and offset.
func nameOf(f *unwind.Frame) string {
	switch {
	case f.Function != "":
		return plain(f.Function)
	case f.Image != "":
		return plain(stop.ImageOffset(f.Image, f.Offset))
	}
	return ""
}

// plain keeps a terminal from being told what to do by what a program calls
// itself.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, s)
}
