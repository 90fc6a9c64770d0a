//go:build linux

package crash

import (
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestDelay: how much later a program dies with reports switched on, of the medians of several deaths each.
func TestDelay(t *testing.T) {
	for _, c := range []struct {
		how, goroutines string
		times           int
		most            time.Duration
	}{
		{"read", "100", 5, 500 * time.Millisecond},
		{"panic", "100000", 2, time.Second},
		{"gostack", "100", 1, time.Second},
	} {
		t.Run(c.how+"-"+c.goroutines, func(t *testing.T) {
			program := dies(t, false)
			took := func(work func()) time.Duration {
				best := time.Hour
				for range c.times {
					began := time.Now()
					work()
					best = min(best, time.Since(began))
				}
				return best
			}
			goroutines := "GOROUTINES=" + c.goroutines
			without := took(func() { run(t, "", []string{goroutines}, program, c.how) })
			with := took(func() {
				dir, _, _, _ := reported(t, program, c.how, goroutines)
				defer theReport(t, dir)
			})
			if late := with - without; late > testneed.Patience(c.most) {
				t.Errorf("it dies %v later (%v, %v)", late, with, without)
			} else {
				t.Logf("it dies %v later (%v, %v)", late, with, without)
			}
		})
	}
}
