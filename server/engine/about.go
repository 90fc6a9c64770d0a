package engine

import (
	"fmt"
	"slices"

	"github.com/clewdbg/clew/unwind"
)

// about is what the user should know of an image where a stack goes through it.
type about struct {
	code  unwind.RangeSet
	notes []string
}

// about collects the notes about the images: the input's own, and what strategies
// could not use.
func (in *Input) about(keys []any, strategies []*strategy) (out []about) {
	for i := range in.Images {
		img := &in.Images[i]
		var notes []string
		if i < len(in.About) {
			notes = slices.Clone(in.About[i])
		}
		for _, t := range strategies {
			if problem := t.images[keys[i]].problem; problem != "" {
				notes = append(notes, fmt.Sprintf("%s cannot use all of %s: %s", t.Name, img.Path, problem))
			}
		}
		if len(notes) > 0 {
			out = append(out, about{unwind.NewRangeSet(img.Executable...), notes})
		}
	}
	return out
}

// aboutImages returns the notes about the images that a stack goes through.
func (p *Prepared) aboutImages(s *unwind.Stack) (notes []string) {
	for _, a := range p.about {
		if slices.ContainsFunc(s.Frames, func(f unwind.Frame) bool {
			return a.code.Contains(uint64(f.PC.Lookup(p.in.Target.Arch)))
		}) {
			notes = append(notes, a.notes...)
		}
	}
	return notes
}
