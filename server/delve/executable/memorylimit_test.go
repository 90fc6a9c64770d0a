package executable

import (
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestMemoryLimit: a process is ended at the first look at which it has taken more than it may.
func TestMemoryLimit(t *testing.T) {
	look := make(chan time.Time, 4)
	for range cap(look) {
		look <- time.Time{}
	}
	sizes, ended := []uint64{50, 100, 101, 500}, uint64(0)
	watchMemory(look, 100, func() uint64 { size := sizes[0]; sizes = sizes[1:]; return size }, func(taken uint64) { ended = taken })
	if ended != 101 {
		t.Errorf("ended at %d", ended)
	}
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	if limit, taken := memoryLimit(), residentSet(); limit < leastMemory || taken < 1<<20 || taken > limit {
		t.Errorf("%d of %d bytes", taken, limit)
	}
}
