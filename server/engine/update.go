package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/clewdbg/clew/unwind"
)

// strategy is one of the engine's strategies, with the images it has received.
type strategy struct {
	Named
	description *unwind.Description // once it was asked
	updated     bool                // there was an update
	target      platform            // of the last update
	images      map[any]described   // that it has, by their keys
	coverage    unwind.RangeSet     // of all images that it has
	yielded     bool                // yield was sent
	yield       unwind.RangeSet
}

// platform is what an update says about the program itself.
type platform struct {
	arch    unwind.Arch
	os      string
	pacMask uint64
}

// described is an image that a strategy has.
type described struct {
	id       unwind.ImageID
	coverage unwind.RangeSet
	problem  string // with the image's unwind information
}

func (t *strategy) describe(ctx context.Context) error {
	if t.description != nil {
		return nil
	}
	d, err := t.Unwinder.Describe(ctx)
	if err == nil {
		t.description = &d
	}
	return err
}

// update sends a strategy the images that are new and those that are gone; changed
// says that there were any. If it fails, the strategy has the images that it had, and
// gets the same update at the next stop.
func (e *Engine) update(ctx context.Context, t *strategy, in *Input, keys []any) (changed bool, err error) {
	if err := t.describe(ctx); err != nil {
		return false, err
	}
	if !slices.Contains(t.description.Arches, in.Target.Arch) {
		return false, nil
	}
	target := platform{in.Target.Arch, in.Target.OS, in.Target.PACMask}
	delta, images, added := e.delta(t, in, keys)
	delta.Arch, delta.OS, delta.PACMask = target.arch, target.os, target.pacMask
	if t.updated && t.target == target && len(delta.Added)+len(delta.Removed) == 0 {
		return false, nil
	}
	reports, err := t.Unwinder.Update(ctx, delta)
	if err != nil {
		return false, err
	}
	if len(reports) != len(added) {
		return false, fmt.Errorf("%d images were described, %d reports came", len(added), len(reports))
	}
	for i, r := range reports {
		images[added[i]] = described{images[added[i]].id, r.Coverage, r.Problem}
	}
	t.updated, t.images, t.target = true, images, target
	var covered []unwind.Range
	for _, d := range images {
		covered = append(covered, d.coverage...)
	}
	t.coverage = unwind.NewRangeSet(covered...)
	return true, nil
}

// delta returns the change of the images since the strategy's last update, and the
// images that it has afterwards; added are the keys of the new ones.
func (e *Engine) delta(t *strategy, in *Input, keys []any) (delta unwind.ImageDelta, images map[any]described, added []any) {
	images = make(map[any]described, len(in.Images))
	for i, key := range keys {
		if d, ok := t.images[key]; ok {
			images[key] = d
			continue
		}
		e.lastID++
		images[key] = described{id: e.lastID}
		added = append(added, key)
		delta.Added = append(delta.Added, in.describe(i, e.lastID, t.description.Sections))
	}
	for key, d := range t.images {
		if _, ok := images[key]; !ok {
			delta.Removed = append(delta.Removed, d.id)
		}
	}
	slices.Sort(delta.Removed)
	return delta, images, added
}

// unnamed is the key of an image without one: nothing else is equal to it.
type unnamed struct{ _ byte }

// keys returns every image's key.
func (in *Input) keys() []any {
	if in.Keys != nil {
		return in.Keys
	}
	keys := make([]any, len(in.Images))
	for i := range keys {
		keys[i] = new(unnamed)
	}
	return keys
}

// describe returns an image with the sections that a strategy wants.
func (in *Input) describe(i int, id unwind.ImageID, sections []string) unwind.Image {
	image := in.Images[i]
	image.ID = id
	if in.Section == nil {
		return image
	}
	for _, name := range sections {
		if s, ok := in.Section(i, name); ok {
			image.Sections = append(image.Sections, s)
		}
	}
	return image
}
