package main

import (
	"path/filepath"
	"testing"
	"time"
)

// TestTimes: latencies of several runs make one table.
func TestTimes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "times")
	p := pair{"next", editors, terminals, "stopped"}
	for n := 1; n <= 2; n++ {
		r := new(results)
		if err := r.load(file); err != nil {
			t.Fatal(err)
		}
		r.add(p, time.Millisecond)
		if len(r.times[p]) != n || len(r.order) != 1 {
			t.Errorf("run %d: %+v", n, r)
		}
		if err := r.save(file); err != nil {
			t.Fatal(err)
		}
	}
}
