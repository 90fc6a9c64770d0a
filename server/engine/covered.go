package engine

import (
	"slices"

	"github.com/clewdbg/clew/unwind"
)

// Covered is what one strategy makes of an image.
type Covered struct {
	Strategy string
	Sections []string        // that it asks for, as far as the image has them
	Code     unwind.RangeSet // of the image that it covers
	Anywhere bool            // it needs nothing of the image, and covers nothing, but may know any code
	Problem  string          // with the image's unwind information, "" for none
}

// Covered says what the strategies make of an image of the input, best ranked
// first: Go's own tables, which are the host's, and then those that have not been
// left out. It holds until the engine prepares again.
func (p *Prepared) Covered(image int) []Covered {
	img := &p.in.Images[image]
	code := p.in.code(image)
	out := []Covered{{Strategy: unwind.StrategyGopclntab, Code: code.Intersect(p.in.Hosted)}}
	for _, t := range p.usable {
		if !slices.Contains(t.description.Arches, p.in.Target.Arch) {
			continue
		}
		c := Covered{Strategy: t.Name, Anywhere: t.description.Anywhere}
		if l, ok := t.images[p.keys[image]]; ok {
			c.Code, c.Problem = code.Intersect(l.coverage), l.problem
		}
		for _, s := range p.in.describe(image, img.ID, t.description.Sections).Sections {
			c.Sections = append(c.Sections, s.Name)
		}
		out = append(out, c)
	}
	return out
}

// code is where an image's code is.
func (in *Input) code(image int) unwind.RangeSet {
	code := unwind.NewRangeSet(in.Images[image].Executable...)
	if in.Target.Executable != nil {
		code = code.Intersect(in.Target.Executable)
	}
	return code
}

// ExecutableBytes is how much code an image of the input has.
func (p *Prepared) ExecutableBytes(image int) uint64 { return p.in.code(image).Size() }
