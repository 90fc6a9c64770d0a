package testneed

import (
	"slices"
	"sync"
	"time"
)

// reference is how long work takes on the machine that the time limits of tests were
// chosen on, when it does nothing else.
const reference = 50 * time.Millisecond

// most bounds what a slow machine is granted.
const most = 10

// Slowness is how many times slower than the reference this machine is now, with
// whatever else it does: from 1 to 10. It is measured once.
var Slowness = sync.OnceValue(func() float64 {
	start := time.Now()
	work()
	return slowness(time.Since(start))
})

func slowness(took time.Duration) float64 {
	return min(max(float64(took)/float64(reference), 1), most)
}

// work is a fixed amount of it.
func work() {
	numbers, next := make([]uint32, 1<<19), uint32(1)
	for i := range numbers {
		next = next*1664525 + 1013904223
		numbers[i] = next
	}
	slices.Sort(numbers)
}

// Patience is a time limit as this machine needs it.
func Patience(limit time.Duration) time.Duration {
	return time.Duration(float64(limit) * Slowness())
}
