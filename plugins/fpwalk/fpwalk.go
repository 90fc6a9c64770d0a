package fpwalk

import (
	"context"
	"sync"

	"github.com/clewdbg/clew/unwind"
)

// Version is the strategy's version, raised when its answers change.
const Version = "1.0"

// Unwinder implements [unwind.Unwinder]. Make one with [New].
type Unwinder struct {
	mu     sync.RWMutex
	config config
}

// config is the input of Update and Yield; a walk uses one copy throughout.
type config struct {
	pacMask uint64
	yield   unwind.RangeSet
}

var _ unwind.Unwinder = (*Unwinder)(nil)

// New returns an unwinder that yields to no one.
func New() *Unwinder { return &Unwinder{} }

// Describe implements [unwind.Unwinder].
func (u *Unwinder) Describe(context.Context) (unwind.Description, error) {
	return unwind.Description{
		Name:      unwind.StrategyFP,
		Version:   Version,
		Arches:    []unwind.Arch{unwind.AMD64, unwind.ARM64},
		Trust:     unwind.TrustFramePointer,
		Anywhere:  true,
		WantsCode: true,
	}, nil
}

// Update implements [unwind.Unwinder]. Frame pointers cross code that no image
// has (R5), so no image adds coverage; only the delta's mask for pointer
// authentication counts (R11).
func (u *Unwinder) Update(_ context.Context, delta unwind.ImageDelta) ([]unwind.ImageReport, error) {
	u.mu.Lock()
	u.config.pacMask = delta.PACMask
	u.mu.Unlock()
	reports := make([]unwind.ImageReport, len(delta.Added))
	for i := range delta.Added {
		reports[i].ID = delta.Added[i].ID
	}
	return reports, nil
}

// Yield implements [unwind.Unwinder].
func (u *Unwinder) Yield(_ context.Context, ranges unwind.RangeSet) error {
	set := unwind.NewRangeSet(ranges...) // a copy, and searchable whatever came over the wire
	u.mu.Lock()
	u.config.yield = set
	u.mu.Unlock()
	return nil
}

// Walk implements [unwind.Unwinder]. The only error is ctx's.
func (u *Unwinder) Walk(ctx context.Context, requests []unwind.WalkRequest) ([]unwind.WalkResult, error) {
	u.mu.RLock()
	c := u.config
	u.mu.RUnlock()
	results := make([]unwind.WalkResult, len(requests))
	for i := range requests {
		w := walker{request: &requests[i], config: c, result: &results[i]}
		if err := w.walk(ctx); err != nil {
			return nil, err
		}
	}
	return results, nil
}
