package tablewalk

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/clewdbg/clew/unwind"
)

// Strategy is what one strategy brings.
type Strategy struct {
	Description unwind.Description
	// Rules is what its rules are called in messages: "DWARF rules".
	Rules string
	// Open reads the tables of an image of one of the description's
	// architectures. It gives nil where there are none, and says what is wrong.
	Open func(arch unwind.Arch, image *unwind.Image) (Tables, Problems)
}

// Tables are what one image has. They are used by several walks at the same
// time.
type Tables interface {
	// Coverage is the code that there are rules for.
	Coverage() unwind.RangeSet
	// Signal says whether the code at an address is what a signal's handler
	// returns to.
	Signal(addr uint64) bool
	// Rule returns the rule for an address, which is of a kind; nil without one,
	// with an error if there should be one.
	Rule(addr uint64, kind unwind.PCKind) (*Rule, error)
}

// Problems are what is wrong with an image's tables, for the user to see.
type Problems []string

// Add adds the first problems of a section, and how many it has in all.
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
	strategy Strategy
	state    atomic.Pointer[state]
	yield    atomic.Pointer[unwind.RangeSet]
}

var _ unwind.Unwinder = (*Unwinder)(nil)

// New returns an unwinder that knows no images and yields to no one.
func New(s Strategy) *Unwinder {
	u := &Unwinder{strategy: s}
	u.state.Store(newState(0, nil))
	u.yield.Store(&unwind.RangeSet{})
	return u
}

// Describe implements [unwind.Unwinder].
func (u *Unwinder) Describe(context.Context) (unwind.Description, error) {
	return u.strategy.Description, nil
}

// Update implements [unwind.Unwinder]. It opens the tables of new images: the
// coverage that it answers with has every function that has usable rules.
func (u *Unwinder) Update(ctx context.Context, delta unwind.ImageDelta) ([]unwind.ImageReport, error) {
	old := u.state.Load()
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
	u.state.Store(newState(delta.PACMask, images))
	return reports, nil
}

// open reads an image's tables, and says what they cover.
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

// Yield implements [unwind.Unwinder].
func (u *Unwinder) Yield(_ context.Context, ranges unwind.RangeSet) error {
	set := unwind.NewRangeSet(ranges...) // a copy, and searchable whatever came over the wire
	u.yield.Store(&set)
	return nil
}

// Walk implements [unwind.Unwinder]. The only error is ctx's.
func (u *Unwinder) Walk(ctx context.Context, requests []unwind.WalkRequest) ([]unwind.WalkResult, error) {
	state, yield := u.state.Load(), *u.yield.Load()
	results := make([]unwind.WalkResult, len(requests))
	for i := range requests {
		w := walker{strategy: &u.strategy, request: &requests[i], state: state, yield: yield, result: &results[i]}
		if err := w.walk(ctx); err != nil {
			return nil, err
		}
	}
	return results, nil
}
