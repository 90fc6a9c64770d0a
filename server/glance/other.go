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
	late      *LateThread
}

const maxPieces = 1

func whileStopped(int, time.Duration, func(time.Time, []stopped) error) (time.Duration, error) {
	return 0, ErrUnsupported
}

func onThread(f func()) { f() }

func tasks(int) ([]int, error) { return nil, ErrUnsupported }

func reserve(n int) []byte { return make([]byte, n) }

func readRanges(int, []unwind.Range, []byte, []unwind.Window) []unwind.Window { return nil }

func clockOf(int) (func(int64) time.Time, bool) { return nil, false }
