package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/clewdbg/clew/unwind"
)

// taught is a strategy, and what it was told at earlier stops.
type taught struct {
	Named
	description *unwind.Description // once it was asked
	told        bool                // there was an update
	target      unwind.ImageDelta   // of the last update, without its images
	knows       map[any]lesson      // by the images' keys
	coverage    unwind.RangeSet     // of all that it knows
	yields      bool                // yield was sent
	yield       unwind.RangeSet
}

// lesson is an image that a strategy knows.
type lesson struct {
	id       unwind.ImageID
	coverage unwind.RangeSet
	problem  string // with the image's unwind information
}

func (t *taught) describe(ctx context.Context) error {
	if t.description != nil {
		return nil
	}
	d, err := t.Unwinder.Describe(ctx)
	if err == nil {
		t.description = &d
	}
	return err
}

// teach tells a strategy which images are new, and which are gone; changed says
// that there were any. Where it fails the strategy knows as much as before, and is
// told again at the next stop.
func (e *Engine) teach(ctx context.Context, t *taught, in *Input, keys []any) (changed bool, err error) {
	if err := t.describe(ctx); err != nil {
		return false, err
	}
	if !slices.Contains(t.description.Arches, in.Target.Arch) {
		return false, nil
	}
	delta := unwind.ImageDelta{Arch: in.Target.Arch, OS: in.Target.OS, PACMask: in.Target.PACMask}
	knows := make(map[any]lesson, len(in.Images))
	var added []any
	for i, key := range keys {
		if l, ok := t.knows[key]; ok {
			knows[key] = l
			continue
		}
		e.lastID++
		knows[key] = lesson{id: e.lastID}
		added = append(added, key)
		delta.Added = append(delta.Added, in.describe(i, e.lastID, t.description.Sections))
	}
	for key, l := range t.knows {
		if _, ok := knows[key]; !ok {
			delta.Removed = append(delta.Removed, l.id)
		}
	}
	slices.Sort(delta.Removed)
	sameTarget := t.target.Arch == delta.Arch && t.target.OS == delta.OS && t.target.PACMask == delta.PACMask
	if t.told && sameTarget && len(delta.Added)+len(delta.Removed) == 0 {
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
		l := knows[added[i]]
		l.coverage, l.problem = r.Coverage, r.Problem
		knows[added[i]] = l
	}
	t.told, t.knows = true, knows
	t.target = unwind.ImageDelta{Arch: delta.Arch, OS: delta.OS, PACMask: delta.PACMask}
	var covered []unwind.Range
	for _, l := range knows {
		covered = append(covered, l.coverage...)
	}
	t.coverage = unwind.NewRangeSet(covered...)
	return true, nil
}

// unnamed is the key of an image that has none: nothing else is equal to it.
type unnamed struct{ _ byte }

// keys gives every image's key.
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

// describe gives an image with the sections that a strategy wants.
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
