package fpwalk

import (
	"context"

	"github.com/clewdbg/clew/internal/unwind/walk"
	"github.com/clewdbg/clew/unwind"
)

// Version is the strategy's version, raised when its answers change.
const Version = "1.0"

// Unwinder implements [unwind.Unwinder]. Make one with [New].
type Unwinder struct{ walk.Unwinder[target] }

// target is what counts of the program, on arm64.
type target struct {
	pacMask uint64 // R11
	// anywhere says that records may lie anywhere in their frames (R12): so they do on
	// Linux. On Darwin they are the frames' uppermost words.
	anywhere bool
}

var _ unwind.Unwinder = (*Unwinder)(nil)

// New returns an unwinder that yields to no one.
func New() *Unwinder {
	u := &Unwinder{}
	u.Description = unwind.Description{
		Name:      unwind.StrategyFP,
		Version:   Version,
		Arches:    []unwind.Arch{unwind.AMD64, unwind.ARM64},
		Trust:     unwind.TrustFramePointer,
		Anywhere:  true,
		WantsCode: true,
	}
	u.Rules = "frame pointer rules"
	u.Run = func(ctx context.Context, in walk.Walk, t *target) error {
		w := walker{Walk: in, convention: conventions[in.Arch]}
		if in.Arch == unwind.ARM64 {
			w.target = *t
		}
		return w.run(ctx)
	}
	u.Set(new(target))
	return u
}

// Update implements [unwind.Unwinder]. Frame pointers cross code that no image
// has (R5), so no image adds coverage; only the delta's mask for pointer
// authentication counts (R11).
func (u *Unwinder) Update(_ context.Context, delta unwind.ImageDelta) ([]unwind.ImageReport, error) {
	u.Set(&target{pacMask: delta.PACMask, anywhere: delta.OS == "linux"})
	reports := make([]unwind.ImageReport, len(delta.Added))
	for i := range delta.Added {
		reports[i].ID = delta.Added[i].ID
	}
	return reports, nil
}
