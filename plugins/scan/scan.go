package scan

import (
	"context"
	"slices"

	"github.com/clewdbg/clew/internal/unwind/walk"
	"github.com/clewdbg/clew/unwind"
)

// Version is the strategy's version, raised when its answers change.
const Version = "1.0"

// Plugin implements [unwind.Unwinder]. Make one with [New].
type Plugin struct{ walk.Unwinder[config] }

// config is the input of Update. The data that it refers to never changes.
type config struct {
	os         string
	pacMask    uint64
	images     []image
	executable unwind.RangeSet // of all images
}

type image struct {
	id         unwind.ImageID
	executable []unwind.Range
}

var _ unwind.Unwinder = (*Plugin)(nil)

// New returns an unwinder that knows no images and yields to no one.
func New() *Plugin {
	p := &Plugin{}
	p.Description = unwind.Description{
		Name:      unwind.StrategyScan,
		Version:   Version,
		Arches:    []unwind.Arch{unwind.AMD64, unwind.ARM64},
		Trust:     unwind.TrustScan,
		Anywhere:  true,
		WantsCode: true,
	}
	p.Rules = "rules for scanning stacks"
	p.Run = func(ctx context.Context, in walk.Walk, config *config) error {
		w := walker{Walk: in, config: *config}
		return w.run(ctx)
	}
	p.Set(new(config))
	return p
}

// Update implements [unwind.Unwinder]. It keeps the ranges of code, and covers
// nothing.
func (p *Plugin) Update(_ context.Context, delta unwind.ImageDelta) ([]unwind.ImageReport, error) {
	images := slices.DeleteFunc(slices.Clone(p.State().images), func(im image) bool {
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
	p.Set(&config{os: delta.OS, pacMask: delta.PACMask, images: images, executable: unwind.NewRangeSet(all...)})
	return reports, nil
}
