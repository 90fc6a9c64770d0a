package assembler

import (
	"fmt"
	"strings"

	"github.com/clewdbg/clew/unwind"
)

// Sink takes a stack's frames as they are found, innermost first and complete:
// for stacks too deep to be kept whole. It must not keep the slice. The Stack
// that is returned in the end contains none of them.
type Sink func(frames []unwind.Frame)

// A walk with a sink keeps at least the last keepFrames frames, more than any
// rule looks back (limits of scans in a row, Go's scheduler), and at most
// sinkFrames more, besides one run.
const (
	keepFrames = 1024
	sinkFrames = 4096
)

// builder is the stack that a walk builds.
type builder struct {
	stack  unwind.Stack
	opts   Options
	arch   unwind.Arch
	claims func(frames int) []unwind.Frame // Delve's: see Options
	passed int                             // frames that the sink has
	turn   turn
}

// turn is the state of the attempts to leave the last frame.
type turn struct {
	reasons []string   // why the frame could not be left
	bound   *candidate // of scans (scansFirst)
	waits   int        // its index among the refused plus one, if it is taken where they find no nearer caller
	end     *ending    // that tables claim, and other tables may contradict
	// modelAsked: the model of the code does not leave the frame.
	modelAsked bool
}

func (t *turn) why() string { return strings.Join(t.reasons, "; ") }

// refuse keeps a rejected candidate.
func (b *builder) refuse(by ruled, strategy, reason string, pc, cfa uint64) {
	f := b.last()
	f.Rejected = append(f.Rejected, unwind.Rejection{Strategy: strategy, Reason: reason, Check: by.name, Rule: by.rule, PC: pc, CFA: cfa})
	b.note(strategy, reason)
}

// note keeps the reason for which a strategy did not leave the last frame.
func (b *builder) note(strategy, why string) {
	b.turn.reasons = append(b.turn.reasons, strategy+": "+why)
}

// last is the frame to leave.
func (b *builder) last() *unwind.Frame { return &b.stack.Frames[len(b.stack.Frames)-1] }

// truncate stops the walk. That the stack has ended is for [walker.conclude] alone to say.
func (b *builder) truncate(reason string) outcome {
	b.stack.Stop, b.stack.Reason = unwind.Truncated, reason
	return reachedEnd
}

// full reports whether the walk has reached its limit of frames, and marks the
// stack.
func (b *builder) full() bool {
	if b.opts.MaxFrames <= 0 || b.depth() < b.opts.MaxFrames {
		return false
	}
	b.truncate(fmt.Sprintf("depth limit of %d frames", b.opts.MaxFrames))
	b.stack.DepthLimited = true
	return true
}

// drain passes all frames but the last on to the sink, when there are many.
func (b *builder) drain() {
	if n := len(b.stack.Frames); b.opts.Sink != nil && n >= keepFrames+sinkFrames {
		b.pass(n - keepFrames)
	}
}

// pass hands the sink the first n of the kept frames, with the inlined ones
// inserted.
func (b *builder) pass(n int) {
	part := unwind.Stack{Frames: b.stack.Frames[:n:n]}
	stitch(b.arch, &part, b.claims(b.depth()))
	b.opts.Sink(part.Frames)
	rest := copy(b.stack.Frames, b.stack.Frames[n:])
	clear(b.stack.Frames[rest:])
	b.stack.Frames = b.stack.Frames[:rest]
	b.passed += n
}

// depth is how many frames the stack has so far.
func (b *builder) depth() int { return b.passed + len(b.stack.Frames) }

// doubtUnproven lowers the trust of the last, unproven frames if the next candidate was
// refused and only calls through registers or pointers lead to them: one of the two
// places is damaged, and it is unknown which.
func (b *builder) doubtUnproven(unproven int) {
	n := len(b.stack.Frames)
	if len(b.last().Rejected) == 0 {
		return
	}
	for i := n - 1; i > 0 && i >= n-unproven; i-- {
		if f := &b.stack.Frames[i]; f.Trust > unwind.TrustScan {
			f.Trust = unwind.TrustScan
			f.Notes = append(f.Notes, "no call is known to have led from here, and what should be the next frame was refused: the stack may be damaged here already")
		}
	}
}
