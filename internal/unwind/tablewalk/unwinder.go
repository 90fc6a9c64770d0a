package tablewalk

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/clewdbg/clew/internal/unwind/walk"
	"github.com/clewdbg/clew/unwind"
)

// Strategy is the part of a strategy that differs.
type Strategy struct {
	Description unwind.Description
	// Rules is the name of its rules in messages: "DWARF rules".
	Rules string
	// Open reads the tables of an image of one of the description's architectures.
	// It returns nil without any, and the faults.
	Open func(arch unwind.Arch, image *unwind.Image) (Tables, Problems)
}

// Tables are one image's tables. Several walks use them at the same time.
type Tables interface {
	// Coverage is the code with rules.
	Coverage() unwind.RangeSet
	// Signal reports whether a signal handler returns to the code at an address.
	Signal(addr uint64) bool
	// Rule returns the rule for an address, which is of a kind; nil without one,
	// with an error if there should be one.
	Rule(addr uint64, kind unwind.PCKind) (*Rule, error)
}

// Problems are the faults of an image's tables, for the user.
type Problems []string

// Add adds the first problems of a section, and their total number.
func Add[E error](p *Problems, section string, first []E, count int) {
	for _, err := range first {
		*p = append(*p, err.Error())
	}
	if count > len(first) {
		*p = append(*p, fmt.Sprintf("%d more in %s", count-len(first), section))
	}
}

// Unwinder implements [unwind.Unwinder]. Make one with [New].
type Unwinder struct {
	walk.Unwinder[state]
	strategy Strategy
}

var _ unwind.Unwinder = (*Unwinder)(nil)

// New returns an unwinder that knows no images and yields to no one.
func New(s Strategy) *Unwinder {
	u := &Unwinder{strategy: s}
	u.Description, u.Rules = s.Description, s.Rules
	u.Run = func(ctx context.Context, in walk.Walk, state *state) error {
		w := walker{Walk: in, strategy: &u.strategy, state: state}
		return w.run(ctx)
	}
	u.Set(newState(0, nil))
	return u
}

// Update implements [unwind.Unwinder]. It opens the tables of new images: the
// coverage that it answers with has every function that has usable rules.
func (u *Unwinder) Update(ctx context.Context, delta unwind.ImageDelta) ([]unwind.ImageReport, error) {
	old := u.State()
	images := slices.DeleteFunc(slices.Clone(old.images), func(im *image) bool {
		return slices.Contains(delta.Removed, im.id) ||
			slices.ContainsFunc(delta.Added, func(added unwind.Image) bool { return added.ID == im.id })
	})
	reports := make([]unwind.ImageReport, len(delta.Added))
	for i := range delta.Added {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		im, report := u.open(delta.Arch, &delta.Added[i])
		reports[i] = report
		if len(report.Coverage) > 0 {
			images = append(images, im)
		}
	}
	u.Set(newState(delta.PACMask, images))
	return reports, nil
}

// open reads an image's tables, and returns their coverage.
func (u *Unwinder) open(arch unwind.Arch, in *unwind.Image) (*image, unwind.ImageReport) {
	im := &image{id: in.ID, arch: arch}
	report := unwind.ImageReport{ID: in.ID}
	if !slices.Contains(u.strategy.Description.Arches, arch) {
		return im, report
	}
	var problems Problems
	im.tables, problems = u.strategy.Open(arch, in)
	report.Problem = strings.Join(problems, "; ")
	if im.tables == nil {
		return im, report
	}
	report.Coverage = im.tables.Coverage()
	if n := len(report.Coverage); n > 0 {
		im.bounds = unwind.Range{Start: report.Coverage[0].Start, End: report.Coverage[n-1].End}
	}
	return im, report
}
