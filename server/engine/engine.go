// Package engine puts the parts together for one stop: it tells the strategies
// of the images, learns what they cover, ranks them, has the assembler build
// stacks, and names their frames. Live targets and snapshots go through it
// alike, which is why a snapshot gives the stack that was seen live.
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
}

// Namer gives the frames of a stack their names, images and source lines, and
// may put inlined frames before the ones they lie in.
type Namer interface {
	Name(stack *unwind.Stack)
}

// Input is one stopped target.
type Input struct {
	Target assembler.Target
	// Images are described to the strategies. Prepare gives them their IDs.
	Images []unwind.Image
	// Section gives a section of an image by its index in Images; nil where there
	// are no files.
	Section func(image int, name string) (unwind.Section, bool)
	// Hosted are the ranges that the host serves itself (Go's functions, by
	// their own tables), whatever the strategies cover.
	Hosted unwind.RangeSet
	Names  Namer
	// Notes go onto every stack: images that could not be used, and why.
	Notes []string
}

// Engine assembles stacks with a set of strategies.
type Engine struct {
	strategies []Named
	described  map[string]unwind.Description
	sent       map[string][]unwind.ImageID // what each strategy holds of earlier stops
	lastID     unwind.ImageID
}

// New makes an engine; strategies come best ranked first.
func New(strategies []Named) *Engine {
	return &Engine{strategies: strategies, described: make(map[string]unwind.Description), sent: make(map[string][]unwind.ImageID)}
}

// Prepared is an engine that knows one stop's images.
type Prepared struct {
	asm   assembler.Assembler
	in    *Input
	notes []string
}

// Prepare tells every strategy of the target's images. A strategy that fails is
// left out, and every stack says so.
func (e *Engine) Prepare(ctx context.Context, in *Input) *Prepared {
	p := &Prepared{in: in, notes: slices.Clone(in.Notes)}
	for i := range in.Images {
		e.lastID++
		in.Images[i].ID = e.lastID
	}
	higher := in.Hosted
	for _, n := range e.strategies {
		s, err := e.prepare(ctx, n, in, higher)
		if err != nil {
			p.notes = append(p.notes, fmt.Sprintf("strategy %s is left out: %v", n.Name, err))
			continue
		}
		if s == nil {
			continue
		}
		higher = higher.Union(s.Coverage)
		p.asm.Strategies = append(p.asm.Strategies, *s)
	}
	return p
}

// prepare tells one strategy of the images; nil if it does not know the
// architecture.
func (e *Engine) prepare(ctx context.Context, n Named, in *Input, higher unwind.RangeSet) (*assembler.Strategy, error) {
	d, ok := e.described[n.Name]
	if !ok {
		var err error
		if d, err = n.Unwinder.Describe(ctx); err != nil {
			return nil, err
		}
		e.described[n.Name] = d
	}
	if !slices.Contains(d.Arches, in.Target.Arch) {
		return nil, nil
	}
	s := &assembler.Strategy{Description: d, Unwinder: n.Unwinder}
	delta := unwind.ImageDelta{Arch: in.Target.Arch, OS: in.Target.OS, PACMask: in.Target.PACMask,
		Added: in.imagesFor(d), Removed: e.sent[n.Name]}
	reports, err := n.Unwinder.Update(ctx, delta)
	if err != nil {
		return nil, err
	}
	e.sent[n.Name] = nil
	for _, img := range in.Images {
		e.sent[n.Name] = append(e.sent[n.Name], img.ID)
	}
	for _, r := range reports {
		s.Coverage = s.Coverage.Union(r.Coverage)
	}
	if in.Target.Executable != nil {
		// Tables may claim what is no code; only code is ranked.
		s.Coverage = s.Coverage.Intersect(in.Target.Executable)
	}
	if err := n.Unwinder.Yield(ctx, higher); err != nil {
		return nil, err
	}
	return s, nil
}

// imagesFor gives the images with the sections that a strategy wants.
func (in *Input) imagesFor(d unwind.Description) []unwind.Image {
	if len(d.Sections) == 0 || in.Section == nil {
		return in.Images
	}
	images := slices.Clone(in.Images)
	for i := range images {
		for _, name := range d.Sections {
			if s, ok := in.Section(i, name); ok {
				images[i].Sections = append(images[i].Sections, s)
			}
		}
	}
	return images
}

// Stack assembles and names the stack of one thread of control.
func (p *Prepared) Stack(ctx context.Context, th *assembler.Thread, opts assembler.Options) unwind.Stack {
	stack := p.asm.Stack(ctx, &p.in.Target, th, opts)
	if p.in.Names != nil {
		p.in.Names.Name(&stack)
	}
	stack.Notes = append(slices.Clone(p.notes), stack.Notes...)
	return stack
}
