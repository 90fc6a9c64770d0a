package engine

import (
	"fmt"
	"slices"

	"github.com/clewdbg/clew/unwind"
)

// ImageNotes returns the notes about each image, in the order of Images. It is nil for an input without About.
func (in *Input) ImageNotes() [][]string {
	if in.About == nil {
		return nil
	}
	return in.About()
}

// problems lists for each image what strategies could not use.
func (in *Input) problems(keys []any, strategies []*strategy) [][]string {
	out := make([][]string, len(in.Images))
	for i := range in.Images {
		for _, t := range strategies {
			if problem := t.images[keys[i]].problem; problem != "" {
				out[i] = append(out[i], fmt.Sprintf("%s cannot use all of %s: %s", t.Name, in.Images[i].Path, problem))
			}
		}
	}
	return out
}

// aboutImages returns the notes about the images that a stack goes through: the input's own, and what
// strategies could not use.
func (p *Prepared) aboutImages(s *unwind.Stack) (notes []string) {
	about := p.in.ImageNotes()
	for i := range p.in.Images {
		own := p.problems[i]
		if i < len(about) {
			own = slices.Concat(about[i], own)
		}
		if len(own) > 0 && goesThrough(s, p.in.Images[i].Executable, p.in.Target.Arch) {
			notes = append(notes, own...)
		}
	}
	return notes
}

func goesThrough(s *unwind.Stack, executable []unwind.Range, arch unwind.Arch) bool {
	code := unwind.NewRangeSet(executable...)
	return slices.ContainsFunc(s.Frames, func(f unwind.Frame) bool { return code.Contains(uint64(f.PC.Lookup(arch))) })
}
