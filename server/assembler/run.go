package assembler

import (
	"context"
	"fmt"

	"github.com/clewdbg/clew/unwind"
)

// outcome is what asking one strategy came to.
type outcome int

const (
	nothing    outcome = iota // the next strategy's turn
	progressed                // at least one frame more
	reachedEnd                // the stack is complete, or as deep as it may be
)

// run asks one strategy to leave the last frame and as many more as it can, and
// judges what comes back.
func (w *walker) run(ctx context.Context, s *Strategy, fn Function, known bool) outcome {
	req := w.request(s, fn, known)
	result, err := w.ask(ctx, s, &req)
	if err != nil {
		w.fail(s, err)
		return nothing
	}
	w.scanning = s.scans()
	taken, end := w.takeAll(ctx, s, &req, &result)
	w.scanning = false
	switch {
	case end:
		return reachedEnd
	case taken > 0:
		// A frame pointer of 0 ends the chain (R4), but not the stack where the
		// frame's own code says how to go on without it.
		ends := taken == len(result.Steps) && result.Stop == unwind.StopEnd
		if ends && (s.Description.Trust > unwind.TrustFramePointer || w.ruleOf(w.last()) == nil) && w.doubtEnd(s, &result) == "" {
			return w.endBy(s, &result)
		}
		return progressed
	case len(result.Steps) > 0:
		return nothing // the first step was refused; take has kept why
	}
	switch result.Stop {
	case unwind.StopEnd:
		return w.endBy(s, &result)
	case unwind.StopBroken:
		w.refuse(s.Description.Name, result.Reason, result.PC, result.CFA)
	case unwind.StopMemory:
		w.refuse(s.Description.Name, fmt.Sprintf("memory at %#x cannot be read", result.Need.Start), 0, 0)
	default:
		w.reasons = append(w.reasons, s.Description.Name+": "+orElse(result.Reason, result.Stop.String()))
	}
	return nothing
}

// endBy believes a strategy's word that the stack ends here, unless something
// speaks against it.
func (w *walker) endBy(s *Strategy, result *unwind.WalkResult) outcome {
	if doubt := w.doubtEnd(s, result); doubt != "" {
		w.refuse(s.Description.Name, result.Reason+", but "+doubt, 0, 0)
		return nothing
	}
	if fn, ok := w.function(w.last().PC.Lookup(w.target.Arch)); ok && fn.Go && notOutermost[fn.Name] {
		w.refuse(s.Description.Name, result.Reason+", but "+fn.Name+" has a caller", 0, 0)
		return nothing
	}
	if doubt := w.doubtGuess(); doubt != "" {
		w.truncate(orElse(result.Reason, s.Description.Name) + ", but " + doubt)
		return reachedEnd
	}
	w.stack.Stop = unwind.End
	w.stack.Reason = orElse(result.Reason, s.Description.Name)
	return reachedEnd
}

// nearTop is how far below the top of its stack a thread's outermost frame may
// lie, in bytes: glibc keeps the thread's own data there (struct pthread, TLS).
const nearTop = 8 << 10

// doubtEnd says what speaks against the end of the stack that a strategy reports,
// "" for nothing. A frame pointer of 0 (R4) and a return address below 4096 (R8)
// are words that may be there for other reasons; tables that say that there is no
// caller are believed, but for Go's code, whose ends Go's own tables name.
//
// Situation: optimised C code, called by code that keeps no frame pointer either;
// memory that was overwritten with small numbers. Example: a stripped library built
// with -fomit-frame-pointer, called from Go. What handles it: the innermost frame proves nothing, nor unknown code whose callee keeps none,
// nor what a scan has guessed; C code under a goroutine must lead back to Go;
// elsewhere the outermost frame lies near the top of its stack. Tests:
// TestR8EndAndTruncation, TestEndByFramePointer, TestEndInUnknownCode,
// TestR8ScanEndsNoStack, TestEndByAWordOfMemory.
func (w *walker) doubtEnd(s *Strategy, result *unwind.WalkResult) string {
	f := w.last()
	byFP := s.Description.Trust <= unwind.TrustFramePointer
	fn, known := w.function(f.PC.Lookup(w.target.Arch))
	sp, _ := f.Registers.SP(w.target.Arch)
	at := w.judge.segmentOf(sp)
	switch {
	case s.scans():
		return "a scan knows no end"
	case known && fn.Go:
		return "Go's own tables know where Go's stacks end"
	case !byFP && result.CFA == 0:
		return "" // by what tables say
	case w.guess > 0:
		return w.doubtGuess()
	case byFP && w.depth() > 1 && !w.inChain():
		return "nothing shows that this code uses one"
	case byFP && w.depth() == 1:
		return "nothing shows that the innermost frame uses it"
	case at < 0:
		return ""
	case w.judge.segments[at].Kind == unwind.SegmentSignal:
		return "a signal's handler must lead back to what was interrupted"
	case w.judge.segments[at].Kind == unwind.SegmentG0 && w.thread.Goroutine != 0:
		return "C code called by Go must lead back to Go"
	case w.judge.segments[at].High-sp > nearTop:
		return "the stack goes on far above"
	}
	return ""
}

// inChain says that the last frame's code may keep a frame pointer: the function
// is known (codeSays sees to it then), or its callee was left by one, and such
// code was compiled together as a rule.
func (w *walker) inChain() bool {
	if _, known := w.function(w.last().PC.Lookup(w.target.Arch)); known {
		return true
	}
	return w.byFramePointer(w.calleeRule)
}

// fail notes that a strategy itself failed; it is not asked again in this walk.
func (w *walker) fail(s *Strategy, err error) {
	name := s.Description.Name
	w.down[name] = true
	w.reasons = append(w.reasons, name+" failed: "+err.Error())
	w.stack.Notes = append(w.stack.Notes, fmt.Sprintf("%s failed and was left out: %v", name, err))
}

// takeAll judges the steps of a run in order, and stops at the first that is
// refused, at the stack's end, or at the depth limit.
func (w *walker) takeAll(ctx context.Context, s *Strategy, req *unwind.WalkRequest, result *unwind.WalkResult) (taken int, end bool) {
	for i := range result.Steps {
		if i > 0 {
			if w.ended() || w.full() {
				return i, true
			}
			if w.cuts(s) {
				w.complete(ctx, s, req, i)
				return i, false
			}
		}
		before := len(w.last().Rejected)
		result.Steps[i].Trust = min(result.Steps[i].Trust, s.Description.Trust)
		if !w.take(s.Description.Name, &result.Steps[i], false) {
			if i > 0 {
				// The next turn asks again from this frame, with its code: what is
				// refused then is kept.
				f := w.last()
				f.Rejected = f.Rejected[:before]
				w.complete(ctx, s, req, i)
			}
			return i, false
		}
	}
	return len(result.Steps), false
}

// cuts says that the last frame, in the middle of a run, belongs to somebody
// else: to Go's tables, or to a strategy of higher rank. The strategy should
// have stopped there by itself; the host does not rely on it.
func (w *walker) cuts(s *Strategy) bool {
	at := w.last().PC.Lookup(w.target.Arch)
	if fn, ok := w.function(at); ok && fn.Go || w.atSignalFrame() {
		return true
	}
	for i := range w.asm.Strategies {
		higher := &w.asm.Strategies[i]
		if higher == s {
			return false
		}
		if !w.down[higher.Description.Name] && higher.serves(w.target.Arch, at) && !higher.Description.Anywhere {
			return true
		}
	}
	return false
}

// complete fetches all registers of the frame that a run was cut at: runs carry
// them only for their last step. Where that fails the frame keeps what it has.
func (w *walker) complete(ctx context.Context, s *Strategy, req *unwind.WalkRequest, steps int) {
	if req.AllRegisters {
		return
	}
	again := *req
	again.MaxFrames = steps
	result, err := w.ask(ctx, s, &again)
	if err != nil || len(result.Steps) != steps {
		return
	}
	f := w.last()
	if pc, _ := result.Steps[steps-1].Caller.PC(w.target.Arch); pc == f.PC.Raw() {
		f.Registers = result.Steps[steps-1].Caller
	}
}

// request makes the request to leave the last frame.
func (w *walker) request(s *Strategy, fn Function, known bool) unwind.WalkRequest {
	f := w.last()
	sp, _ := f.Registers.SP(w.target.Arch)
	req := unwind.WalkRequest{
		Arch: w.target.Arch, Registers: f.Registers, Kind: f.PC.Kind(),
		Segment: w.judge.segment(sp), MaxFrames: maxRun, AllRegisters: w.opts.AllRegisters,
	}
	if w.opts.MaxFrames > 0 {
		req.MaxFrames = min(req.MaxFrames, w.opts.MaxFrames-w.depth())
	}
	if s.scans() {
		req.MaxFrames = 1
	}
	// Tables describe a frame that has called somebody; who follows frame pointers
	// has to know whether its code keeps one.
	called := f.PC.Kind() == unwind.KindReturn && s.Description.Trust > unwind.TrustFramePointer
	if s.Description.WantsCode && known && !called {
		req.Function = &unwind.FunctionCode{Start: fn.Start, Exact: fn.Exact, Code: w.code(fn, f.PC.Raw())}
	}
	return req
}

// code gives the original bytes of a function, as far as they are known. They
// reach beyond the PC, so that an epilogue can be recognised.
func (w *walker) code(fn Function, pc uint64) []byte {
	end := fn.End
	if end <= fn.Start {
		end = pc + 256
	}
	return w.target.original(fn.Start, int(min(end-fn.Start, maxCode)))
}

// ask sends a request and gives the strategy the memory that it asks for, until
// it answers or memory cannot be had.
func (w *walker) ask(ctx context.Context, s *Strategy, req *unwind.WalkRequest) (unwind.WalkResult, error) {
	sp, _ := req.Registers.SP(w.target.Arch)
	high := req.Segment.High
	if high == 0 {
		high = ^uint64(0)
	}
	size := w.window
	stack := unwind.Window{Addr: sp, Data: readUpTo(w.target.Memory, sp, high, size)}
	var extra unwind.Windows
	var last unwind.Range
	for {
		w.seen = stack
		req.Stack = append(unwind.Windows{stack}, extra...)
		results, err := s.Unwinder.Walk(ctx, []unwind.WalkRequest{*req})
		if err != nil {
			return unwind.WalkResult{}, err
		}
		if len(results) != 1 {
			return unwind.WalkResult{}, fmt.Errorf("answered %d results to one request", len(results))
		}
		r := results[0]
		if r.Stop != unwind.StopMemory || len(r.Steps) > 0 {
			if r.Stop == unwind.StopMemory {
				w.window = min(2*w.window, lastWindow) // a deep stack: fewer, larger requests
			}
			return r, nil
		}
		need := r.Need
		if need.End <= need.Start || need.End-need.Start > maxNeed {
			return unwind.WalkResult{}, fmt.Errorf("asked for memory [%#x, %#x)", need.Start, need.End)
		}
		if need.Start >= sp && need.End <= high && need.End-sp <= lastWindow && size < lastWindow {
			for size < lastWindow && uint64(size) < need.End-sp {
				size *= 2
			}
			grown := readUpTo(w.target.Memory, sp, high, size)
			if len(grown) > len(stack.Data) && need.End-sp <= uint64(len(grown)) {
				stack.Data = grown
				continue
			}
		}
		if len(extra) >= maxExtra || need == last {
			return r, nil // asked for again: it cannot go on without
		}
		last = need
		// What cannot be had is an empty window: the strategy may go on without.
		extra = append(extra, unwind.Window{Addr: need.Start, Data: w.needed(need)})
	}
}

// needed reads memory that a strategy has asked for, as far as it can be read
// without a gap: of code the original bytes, of which the image's file has more
// than a snapshot.
func (w *walker) needed(need unwind.Range) []byte {
	n := int(need.End - need.Start)
	if w.target.Executable.Contains(need.Start) {
		return w.target.original(need.Start, n)
	}
	return readUpTo(w.target.Memory, need.Start, 0, n)
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
