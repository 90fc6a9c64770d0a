package main

import (
	"math"
	"testing"
	"time"
)

// TestGap: listings of a program whose beat is the interval find each part of the beat as
// often as it lasts, and the mean time between them is the interval.
func TestGap(t *testing.T) {
	const listings, parts = 20000, 10
	for _, beat := range []time.Duration{time.Millisecond, 2 * time.Millisecond, 500 * time.Microsecond} {
		f := againFlags{interval: time.Millisecond}
		var seen [parts]int
		at := time.Duration(0)
		for range listings {
			gap := f.gap()
			if gap < f.interval/2 || gap > f.interval*3/2 {
				t.Fatal(gap)
			}
			at += gap
			seen[int(at%beat)*parts/int(beat)]++
		}
		if mean := float64(at) / listings / float64(f.interval); math.Abs(mean-1) > 0.02 {
			t.Errorf("the mean is %.3f intervals", mean)
		}
		for i, n := range seen {
			if share := float64(n) * parts / listings; math.Abs(share-1) > 0.15 { // six standard errors of a share of 0.1
				t.Errorf("a beat of %v: part %d is seen %.3f times as often as it lasts", beat, i, share)
			}
		}
	}
	if f := (againFlags{watch: time.Second, interval: time.Millisecond}); f.gap() != time.Second {
		t.Error(f.gap())
	}
}
