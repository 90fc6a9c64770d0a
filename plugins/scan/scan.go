package scan

import (
	"context"
	"slices"
	"sync"

	"github.com/clewdbg/clew/unwind"
)

// Version is the strategy's version, raised when its answers change.
const Version = "1.0"

// Plugin implements [unwind.Unwinder]. Make one with [New].
type Plugin struct {
	mu     sync.RWMutex
	config config
}

// config is the input of Update and Yield. A walk uses one copy throughout; the
// data that it refers to never changes.
type config struct {
	os         string
	pacMask    uint64
	images     []image
	executable unwind.RangeSet // of all images
	yield      unwind.RangeSet
}

type image struct {
	id         unwind.ImageID
	executable []unwind.Range
}

var _ unwind.Unwinder = (*Plugin)(nil)

// New returns an unwinder that knows no images and yields to no one.
func New() *Plugin { return &Plugin{} }

// Describe implements [unwind.Unwinder].
func (p *Plugin) Describe(context.Context) (unwind.Description, error) {
	return unwind.Description{
		Name:      unwind.StrategyScan,
		Version:   Version,
		Arches:    []unwind.Arch{unwind.AMD64, unwind.ARM64},
		Trust:     unwind.TrustScan,
		Anywhere:  true,
		WantsCode: true,
	}, nil
}

// Update implements [unwind.Unwinder]. It keeps the ranges of code, and covers
// nothing.
func (p *Plugin) Update(_ context.Context, delta unwind.ImageDelta) ([]unwind.ImageReport, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	images := slices.DeleteFunc(slices.Clone(p.config.images), func(im image) bool {
		return slices.Contains(delta.Removed, im.id)
	})
	reports := make([]unwind.ImageReport, len(delta.Added))
	for i := range delta.Added {
		in := &delta.Added[i]
		reports[i].ID = in.ID
		images = append(images, image{id: in.ID, executable: slices.Clone(in.Executable)})
	}
	var all []unwind.Range
	for _, im := range images {
		all = append(all, im.executable...)
	}
	p.config.os, p.config.pacMask = delta.OS, delta.PACMask
	p.config.images, p.config.executable = images, unwind.NewRangeSet(all...)
	return reports, nil
}

// Yield implements [unwind.Unwinder].
func (p *Plugin) Yield(_ context.Context, ranges unwind.RangeSet) error {
	set := unwind.NewRangeSet(ranges...) // a copy, and searchable whatever came over the wire
	p.mu.Lock()
	p.config.yield = set
	p.mu.Unlock()
	return nil
}

// Walk implements [unwind.Unwinder]. The only error is ctx's.
func (p *Plugin) Walk(ctx context.Context, requests []unwind.WalkRequest) ([]unwind.WalkResult, error) {
	p.mu.RLock()
	c := p.config
	p.mu.RUnlock()
	results := make([]unwind.WalkResult, len(requests))
	for i := range requests {
		w := walker{request: &requests[i], config: c, result: &results[i]}
		if err := w.walk(ctx); err != nil {
			return nil, err
		}
	}
	return results, nil
}
