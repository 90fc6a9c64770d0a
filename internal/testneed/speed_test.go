package testneed

import (
	"testing"
	"time"
)

// TestPatience: a slow machine has more time, never less, and not without a bound.
func TestPatience(t *testing.T) {
	for took, want := range map[time.Duration]float64{reference / 2: 1, 3 * reference: 3, time.Hour: most} {
		if got := slowness(took); got != want {
			t.Errorf("work in %v: %v times slower, want %v", took, got, want)
		}
	}
	if got := Patience(time.Second); got < time.Second || got > most*time.Second {
		t.Errorf("a second has become %v", got)
	}
}
