package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/clewdbg/clew/unwind"
)

// untold is a strategy that is told of images and does nothing.
type untold struct{ unwind.Unwinder }

func (untold) Update(context.Context, unwind.ImageDelta) ([]unwind.ImageReport, error) {
	return nil, nil
}

func released() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapReleased
}

// TestSettling: a plugin returns what reading tables has left each time that it is told of images.
func TestSettling(t *testing.T) {
	u := newSettling(untold{})
	for range 2 {
		const size = 64 << 20
		garbage := make([]byte, size)
		for i := 0; i < size; i += 4096 {
			garbage[i] = 1
		}
		runtime.KeepAlive(garbage)
		before := released()
		if _, err := u.Update(context.Background(), unwind.ImageDelta{}); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(20 * time.Second); released() < before+size/2; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d bytes were returned, of %d", released()-before, size)
			}
		}
	}
}

// TestCollectLate: only the first collection is late.
func TestCollectLate(t *testing.T) {
	usual := debug.SetGCPercent(100)
	defer debug.SetGCPercent(usual)
	collectLate()
	if now := debug.SetGCPercent(lateCollection); now != lateCollection {
		t.Fatalf("collected at %d%%", now)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		runtime.GC()
		now := debug.SetGCPercent(lateCollection)
		if now == 100 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d%% after collections", now)
		}
	}
}
