package dwarfcfi

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/clewdbg/clew/unwind"
)

// Version is the strategy's version, raised when its answers change.
const Version = "1.0"

// The sections that it asks for.
const (
	sectionEH     = ".eh_frame"
	sectionHeader = ".eh_frame_hdr"
	sectionDebug  = ".debug_frame"
	// sectionSegment is what an image without section headers has: the loadable
	// segment from the place that the program header PT_GNU_EH_FRAME names on.
	sectionSegment = "segment:0x6474e550"
)

// Plugin implements [unwind.Unwinder]. Make one with [New].
type Plugin struct {
	state atomic.Pointer[state]
	yield atomic.Pointer[unwind.RangeSet]
}

var _ unwind.Unwinder = (*Plugin)(nil)

// New gives an unwinder that knows no images and yields to no one.
func New() *Plugin {
	p := &Plugin{}
	p.state.Store(newState(0, nil))
	p.yield.Store(&unwind.RangeSet{})
	return p
}

// Describe implements [unwind.Unwinder].
func (p *Plugin) Describe(context.Context) (unwind.Description, error) {
	return unwind.Description{
		Name:     unwind.StrategyDWARF,
		Version:  Version,
		Arches:   []unwind.Arch{unwind.AMD64, unwind.ARM64},
		Trust:    unwind.TrustCFI,
		Sections: []string{sectionEH, sectionHeader, sectionDebug, sectionSegment},
	}, nil
}

// Update implements [unwind.Unwinder]. It indexes the sections of new images:
// the coverage that it answers with has every function that has usable rules.
func (p *Plugin) Update(ctx context.Context, delta unwind.ImageDelta) ([]unwind.ImageReport, error) {
	old := p.state.Load()
	images := slices.DeleteFunc(slices.Clone(old.images), func(im *image) bool {
		return slices.Contains(delta.Removed, im.id) ||
			slices.ContainsFunc(delta.Added, func(added unwind.Image) bool { return added.ID == im.id })
	})
	reports := make([]unwind.ImageReport, len(delta.Added))
	for i := range delta.Added {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		im, report := newImage(delta.Arch, &delta.Added[i])
		reports[i] = report
		if len(report.Coverage) > 0 {
			images = append(images, im)
		}
	}
	p.state.Store(newState(delta.PACMask, images))
	return reports, nil
}

// Yield implements [unwind.Unwinder].
func (p *Plugin) Yield(_ context.Context, ranges unwind.RangeSet) error {
	set := unwind.NewRangeSet(ranges...) // a copy, and searchable whatever came over the wire
	p.yield.Store(&set)
	return nil
}

// Walk implements [unwind.Unwinder]. The only error is ctx's.
func (p *Plugin) Walk(ctx context.Context, requests []unwind.WalkRequest) ([]unwind.WalkResult, error) {
	state, yield := p.state.Load(), *p.yield.Load()
	results := make([]unwind.WalkResult, len(requests))
	for i := range requests {
		w := walker{request: &requests[i], state: state, yield: yield, result: &results[i]}
		if err := w.walk(ctx); err != nil {
			return nil, err
		}
	}
	return results, nil
}
