package debuggee

import (
	"runtime"
	"testing"
	"time"
)

// TestSettle: garbage goes back to the system without a collection that is due.
func TestSettle(t *testing.T) {
	const size = 64 << 20
	released := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapReleased
	}
	garbage := make([]byte, size)
	for i := 0; i < size; i += 4096 {
		garbage[i] = 1
	}
	runtime.KeepAlive(garbage)
	before := released()
	var l Program
	for range 2 {
		l.Settle()
	}
	for end := time.Now().Add(20 * time.Second); released() < before+size/2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d bytes were returned, of %d", released()-before, size)
		}
	}
}
