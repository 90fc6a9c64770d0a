package pluginhost

import (
	"slices"

	"github.com/clewdbg/clew/unwind"
)

// known is the state that a plugin has been sent, and that a new process must be sent
// first.
type known struct {
	sent    bool // there was an update
	arch    unwind.Arch
	os      string
	pacMask uint64
	images  []unwind.Image // in the order in which they came

	yielded bool
	yield   unwind.RangeSet
}

func (k *known) apply(d *unwind.ImageDelta) {
	removed := make(map[unwind.ImageID]bool, len(d.Removed))
	for _, id := range d.Removed {
		removed[id] = true
	}
	// A new slice: the old one may be on its way to a plugin.
	images := slices.DeleteFunc(slices.Clone(k.images), func(img unwind.Image) bool { return removed[img.ID] })
	k.sent, k.arch, k.os, k.pacMask = true, d.Arch, d.OS, d.PACMask
	k.images = append(images, d.Added...)
}

// delta is everything in one piece.
func (k *known) delta() unwind.ImageDelta {
	return unwind.ImageDelta{Arch: k.arch, OS: k.os, PACMask: k.pacMask, Added: k.images}
}
