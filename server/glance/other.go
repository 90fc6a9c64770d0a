//go:build !linux || !(amd64 || arm64)

package glance

import (
	"time"

	"github.com/clewdbg/clew/unwind"
)

const supported = false

// stopped is a thread that stands still.
type stopped struct {
	id        int
	inside    uint64
	registers unwind.Registers
}

func whileStopped(int, func([]stopped) error) (time.Duration, error) {
	return 0, ErrUnsupported
}

func readRanges(int, []unwind.Range, []byte) []unwind.Window { return nil }

func clockOf(int) (func(int64) time.Time, bool) { return nil, false }
