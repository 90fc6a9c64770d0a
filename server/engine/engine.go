// Package engine puts the parts together for one stop: it tells the strategies
// of the images, learns what they cover, ranks them, has the assembler build
// stacks, and names their frames. Live targets and snapshots go through it
// alike, so the stack of a snapshot is the one that was seen live.
package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/unwind"
)

// Named is a strategy that the engine can use, in rank order.
type Named struct {
	Name     string
	Unwinder unwind.Unwinder
	// Description is known where the unwinder need not be asked for it; else nil.
	Description *unwind.Description
}

// Namer returns the frames of a stack their names, images and source lines, and
// may put inlined frames before the ones they lie in.
type Namer interface {
	Name(stack *unwind.Stack)
}

// Input is one stopped target.
type Input struct {
	Target assembler.Target
	// Images are described to the strategies, under IDs of the engine's.
	Images []unwind.Image
	// Keys tells images apart from stop to stop, in the order of Images: one whose
	// key was there at the stop before is not described again. nil: all are new.
	Keys []any
	// Section returns a section of an image by its index in Images; nil where there
	// are no files.
	Section func(image int, name string) (unwind.Section, bool)
	// Hosted are the ranges that the host serves itself (Go's functions, by
	// their own tables), whatever the strategies cover.
	Hosted unwind.RangeSet
	Names  Namer
	// Notes go onto every stack: images that could not be used, and why.
	Notes []string
	// About returns notes about each image, in the order of Images, for the stacks that
	// have a frame there; nil for none. It is asked when a stack has its names: what is wrong with
	// debugging information is found as it is read. It is safe for concurrent use.
	About func() [][]string
}

// Engine assembles stacks with a set of strategies, from stop to stop. It is not
// safe for concurrent use; what it has prepared is, until it prepares again.
type Engine struct {
	strategies []*strategy
	lastID     unwind.ImageID
	ranking    *ranking // of the last stop, nil where a strategy failed
}

// New makes an engine; strategies come best ranked first.
func New(strategies []Named) *Engine {
	e := &Engine{}
	for _, n := range strategies {
		e.strategies = append(e.strategies, &strategy{Named: n, description: n.Description, images: make(map[any]described)})
	}
	return e
}

// Start asks the best-ranked strategy what it is: one that is a plugin has its process started for that.
func (e *Engine) Start(ctx context.Context) error {
	if len(e.strategies) == 0 {
		return nil
	}
	_, err := e.strategies[0].Unwinder.Describe(ctx)
	return err
}

// Prepared is an engine that knows one stop's images.
type Prepared struct {
	asm   assembler.Assembler
	in    *Input
	notes []string
	// problems are what strategies could not use of each image.
	problems [][]string
	usable   []*strategy // strategies that could be told of the images
	keys     []any       // the images'
}

// Prepare tells every strategy what is new of the target's images. A strategy
// that fails is left out, and every stack says so.
func (e *Engine) Prepare(ctx context.Context, in *Input) *Prepared {
	p := &Prepared{in: in, notes: slices.Clone(in.Notes)}
	leaveOut := func(t *strategy, err error) {
		p.notes = append(p.notes, fmt.Sprintf("strategy %s is left out: %v", t.Name, err))
		e.ranking = nil
	}
	keys := in.keys()
	var usable []*strategy
	for _, t := range e.strategies {
		changed, err := e.update(ctx, t, in, keys)
		if err != nil {
			leaveOut(t, err)
			continue
		}
		if changed {
			e.ranking = nil
		}
		usable = append(usable, t)
	}
	p.usable, p.keys = usable, keys
	p.problems = in.problems(keys, usable)
	if !e.ranking.holds(in) {
		e.ranking = &ranking{arch: in.Target.Arch, executable: in.Target.Executable, hosted: in.Hosted}
		r, higher := e.ranking, in.Hosted
		for _, t := range usable {
			if !slices.Contains(t.description.Arches, in.Target.Arch) {
				continue
			}
			s, err := t.rank(ctx, in, higher)
			if err != nil {
				leaveOut(t, err)
				continue
			}
			higher = higher.Union(s.Coverage)
			r.strategies = append(r.strategies, s)
		}
		p.asm.Strategies = r.strategies
		return p
	}
	p.asm.Strategies = e.ranking.strategies
	return p
}

// ranking is what the strategies cover, and the stop that it holds for.
type ranking struct {
	arch               unwind.Arch
	executable, hosted unwind.RangeSet
	strategies         []assembler.Strategy
}

// holds says whether the ranking is right for another stop too. That the
// strategies know no other images than they did the caller has seen to.
func (r *ranking) holds(in *Input) bool {
	return r != nil && r.arch == in.Target.Arch && slices.Equal(r.hosted, in.Hosted) &&
		slices.Equal(r.executable, in.Target.Executable) && (r.executable == nil) == (in.Target.Executable == nil)
}

// rank tells a strategy what those above it serve.
func (t *strategy) rank(ctx context.Context, in *Input, higher unwind.RangeSet) (assembler.Strategy, error) {
	s := assembler.Strategy{Description: *t.description, Unwinder: t.Unwinder, Coverage: t.coverage}
	if in.Target.Executable != nil {
		// Tables may claim data; only code is ranked.
		s.Coverage = s.Coverage.Intersect(in.Target.Executable)
	}
	if t.yielded && slices.Equal(t.yield, higher) {
		return s, nil
	}
	t.yielded = false
	if err := t.Unwinder.Yield(ctx, higher); err != nil {
		return s, err
	}
	t.yielded, t.yield = true, higher
	return s, nil
}

// Stack assembles and names the stack of one thread of control. Frames that go
// to a sink have no names.
func (p *Prepared) Stack(ctx context.Context, th *unwind.Thread, opts assembler.Options) unwind.Stack {
	stack := p.asm.Stack(ctx, &p.in.Target, th, opts)
	if p.in.Names != nil && opts.Sink == nil {
		p.in.Names.Name(&stack)
	}
	stack.Notes = slices.Concat(p.notes, p.aboutImages(&stack), stack.Notes)
	return stack
}
