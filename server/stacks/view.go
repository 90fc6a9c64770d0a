package stacks

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/live"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/unwind"
)

// Stack is the stack of one thread of control at a stop.
type Stack struct {
	unwind.Stack
	Thread delve.Thread
	Arch   unwind.Arch
	// GoOnly says that it was made by Go's own tables alone and holds no other code:
	// Delve was not asked for its frames, which the frames' DelveFrame anticipates.
	// Where Delve's differ, this stack is of no use; ask for the whole one.
	GoOnly bool
	depth  int
}

// holds says whether the stack has more than so many frames, or all that there
// are: how the last frame before a limit is left is not known.
func (s *Stack) holds(frames int) bool { return !s.DepthLimited || len(s.Frames) > frames }

// view is the program at one stop.
type view struct {
	at       uint64 // the moment
	session  *delve.Session
	live     *live.View
	goOnly   *engine.Prepared       // without any strategy: Go's tables are the host's own
	prepared *engine.Prepared       // with the strategies; nil until one is needed
	threads  map[int64]delve.Thread // by goroutine, 0 for what is selected
	listed   bool                   // threads holds every goroutine
	goStacks map[int64]*Stack       // nil: has other code
	stacks   map[int64]*Stack
}

func (s *Stacks) look(ctx context.Context, at uint64) (*view, error) {
	seen, err := s.process.Look(false)
	if err != nil {
		return nil, err
	}
	return &view{
		at: at, session: s.session, live: seen, goOnly: engine.New(nil).Prepare(ctx, &seen.Input),
		threads: make(map[int64]delve.Thread), goStacks: make(map[int64]*Stack), stacks: make(map[int64]*Stack),
	}, nil
}

// leastDepth is assembled even where less is asked for: who asks for a frame
// asks for the next one soon.
const leastDepth = 32

// GoStack gives the stack of a goroutine with at least so many frames if it has
// them, where all of it is Go's; nil where it holds other code. Goroutine 0 and
// below is what the session has selected.
func (s *Stacks) GoStack(goroutine int64, frames int) (out *Stack, err error) {
	err = s.do(func(ctx context.Context, v *view) (err error) {
		out, err = v.goStack(ctx, goroutine, frames)
		return err
	})
	return out, err
}

// Whole gives the stack of a goroutine, through whatever code it leads, with at
// least so many frames if it has them.
func (s *Stacks) Whole(goroutine int64, frames int) (out *Stack, err error) {
	err = s.do(func(ctx context.Context, v *view) (err error) {
		if err := s.prepare(ctx, v); err != nil {
			return err
		}
		out, err = v.whole(ctx, goroutine, frames)
		return err
	})
	return out, err
}

// Plan decides how what the session has selected is to step.
func (s *Stacks) Plan(c stepping.Command) (d stepping.Decision, err error) {
	err = s.do(func(ctx context.Context, v *view) error {
		th, err := v.thread(0)
		if err != nil {
			return err
		}
		prepared := v.goOnly
		if g, err := v.goStack(ctx, 0, stepping.Frames); err != nil {
			return err
		} else if g == nil {
			if err := s.prepare(ctx, v); err != nil {
				return err
			}
			prepared = v.prepared
		}
		d = v.live.PlanStep(ctx, prepared, th, c)
		return nil
	})
	return d, err
}

// Registers gives all registers that the walk has recovered for a frame of a
// stack; an ordinary walk keeps the few that it needs.
func (s *Stacks) Registers(stack *Stack, frame int) (regs unwind.Registers, err error) {
	f := &stack.Frames[frame]
	regs = f.Registers
	err = s.do(func(ctx context.Context, v *view) error {
		if err := s.prepare(ctx, v); err != nil {
			return err
		}
		again := v.prepared.Stack(ctx, &stack.Thread.Thread, assembler.Options{MaxFrames: stack.depth, AllRegisters: true})
		for i := range again.Frames {
			if g := &again.Frames[i]; !g.Inlined && g.PC == f.PC && g.CFA == f.CFA {
				regs = g.Registers
			}
		}
		return nil
	})
	return regs, err
}

// Function gives the name of the function at an instruction, else its image and
// offset, "" where neither is known.
func (s *Stacks) Function(pc uint64) (name string, err error) {
	err = s.do(func(_ context.Context, v *view) error {
		lookup := unwind.Code(pc, unwind.KindInstruction).Lookup(v.live.Input.Target.Arch)
		if f, ok := v.live.Code().Function(lookup); ok && f.Name != "" {
			name = f.Name
		} else if image, ok := v.live.Images().Lookup(pc); ok {
			name = ImageOffset(image.Path, pc-image.Base)
		}
		return nil
	})
	return name, err
}

// ImageOffset names code that has no name by its image.
func ImageOffset(path string, offset uint64) string {
	return fmt.Sprintf("%s+%#x", filepath.Base(path), offset)
}

// thread gives a goroutine's thread of control, or what is selected.
func (v *view) thread(goroutine int64) (delve.Thread, error) {
	key := max(goroutine, 0)
	if th, ok := v.threads[key]; ok {
		return th, nil
	}
	th, err := v.find(key)
	if err == nil {
		v.threads[key] = th
	}
	return th, err
}

func (v *view) find(goroutine int64) (delve.Thread, error) {
	if goroutine > 0 {
		return v.goroutine(uint64(goroutine))
	}
	selected, err := v.session.Selected()
	if err != nil {
		return delve.Thread{}, err
	}
	if selected.Goroutine != 0 {
		th, err := v.goroutine(selected.Goroutine)
		if err == nil || !v.session.InLibrary() {
			return th, err
		}
	}
	threads, err := v.live.Threads()
	if err != nil {
		return delve.Thread{}, err
	}
	for _, th := range threads {
		if th.ID == selected.Thread {
			return th, nil
		}
	}
	return delve.Thread{}, fmt.Errorf("there is no thread %d", selected.Thread)
}

// goroutine finds a goroutine. Where one is asked for that does not run, all of
// them are kept: who lists their stacks asks for one after the other.
func (v *view) goroutine(id uint64) (delve.Thread, error) {
	if th, err := v.live.Current(); err == nil && th.Goroutine == id {
		return th, nil
	}
	if !v.listed {
		all, err := v.live.Goroutines()
		if err != nil {
			return delve.Thread{}, err
		}
		v.listed = true
		for _, th := range all {
			v.threads[int64(th.Goroutine)] = th
		}
	}
	if th, ok := v.threads[int64(id)]; ok {
		return th, nil
	}
	return delve.Thread{}, fmt.Errorf("there is no goroutine %d", id)
}

// goStack is a stack by Go's tables, nil where they do not do.
func (v *view) goStack(ctx context.Context, goroutine int64, frames int) (*Stack, error) {
	key := max(goroutine, 0)
	if g, ok := v.goStacks[key]; ok && (g == nil || g.holds(frames)) {
		return g, nil
	}
	th, err := v.thread(key)
	if err != nil {
		return nil, err
	}
	th.Claims = nil
	g := v.stack(ctx, v.goOnly, th, frames)
	g.GoOnly = true
	if !v.onlyGo(&g.Stack) {
		g = nil
	} else {
		for i := range g.Frames {
			g.Frames[i].DelveFrame = i
		}
	}
	v.goStacks[key] = g
	return g, nil
}

func (v *view) stack(ctx context.Context, prepared *engine.Prepared, th delve.Thread, frames int) *Stack {
	depth := max(frames+1, leastDepth)
	out := &Stack{Thread: th, Arch: v.live.Input.Target.Arch, depth: depth}
	out.Stack = prepared.Stack(ctx, &th.Thread, assembler.Options{MaxFrames: depth})
	return out
}

// onlyGo says that a stack is Go's from its innermost frame on, and whole as far
// as it was asked for.
func (v *view) onlyGo(s *unwind.Stack) bool {
	if s.Stop == unwind.Truncated && !s.DepthLimited || len(s.Frames) == 0 {
		return false
	}
	hosted, arch := v.live.Input.Hosted, v.live.Input.Target.Arch
	for i := range s.Frames {
		f := &s.Frames[i]
		if f.Strategy != unwind.StrategyGopclntab && f.Strategy != unwind.StrategyRegisters || f.Trust < unwind.TrustCFI || len(f.Rejected) > 0 {
			return false
		}
		if !hosted.Contains(uint64(f.PC.Lookup(arch))) {
			return false
		}
	}
	return true
}

// whole is a stack through any code, with Delve's frames as claims.
func (v *view) whole(ctx context.Context, goroutine int64, frames int) (*Stack, error) {
	key := max(goroutine, 0)
	if w := v.stacks[key]; w != nil && w.holds(frames) {
		return w, nil
	}
	th, err := v.thread(key)
	if err != nil {
		return nil, err
	}
	note := v.claim(&th, max(frames+1, leastDepth))
	w := v.stack(ctx, v.prepared, th, frames)
	if note != "" {
		w.Notes = append(w.Notes, note)
	}
	v.stacks[key] = w
	return w, nil
}

// maxClaims bounds the frames that Delve is asked for; firstClaims bounds them as
// long as it is not known that there are so many: it takes the memory for all of
// them before it walks.
const (
	maxClaims   = 1 << 24
	firstClaims = 1 << 16
)

// claim fills in Delve's own frames, so many physical ones if there are. Delve
// counts inlined functions as frames: they come on top. That Delve fails is no
// failure.
func (v *view) claim(th *delve.Thread, depth int) (note string) {
	for ask := min(depth+depth/2, firstClaims); ; ask *= 2 {
		claims, err := v.session.Claims(*th, ask)
		if err != nil {
			return "Delve's own frames are not known: " + err.Error()
		}
		th.Claims = claims
		physical := 0
		for i := range claims {
			if !claims[i].Inlined {
				physical++
			}
		}
		if len(claims) < ask || physical >= depth || ask > maxClaims {
			return ""
		}
	}
}
