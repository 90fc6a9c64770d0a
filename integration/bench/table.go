package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"
)

// table is one table of results.
type table struct {
	rounds int
	beside string // another build of clew, to be measured too
	built  []server
	title  string
	notes  []string
	header []string
	rows   [][]string
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) print(w io.Writer) {
	fmt.Fprintf(w, "\n### %s\n\n", t.title)
	for _, n := range t.notes {
		fmt.Fprintf(w, "%s\n\n", n)
	}
	fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(t.header, " | "), strings.Repeat("---|", len(t.header)))
	for _, r := range t.rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(r, " | "))
	}
}

// contender is one of the things compared.
type contender struct {
	name string
	run  func() error
	// before is done before each round, unmeasured.
	before func() error
}

// result is a contender's cost of one run.
type result struct {
	time   time.Duration // median
	allocs float64       // median of objects
}

// compare runs the contenders in turns. Quick ones run as often in a round as
// it takes to be measured. The garbage of one is not left for the next.
func compare(rounds int, contenders ...contender) ([]result, error) {
	const least = 5 * time.Millisecond
	times := make([][]time.Duration, len(contenders))
	objects := make([][]float64, len(contenders))
	repeat := make([]int, len(contenders))
	for i := range repeat {
		repeat[i] = 1
	}
	for round := -1; round < rounds; round++ { // the first warms up, and finds how often to repeat
		for i := range contenders {
			c := &contenders[(i+max(0, round))%len(contenders)]
			at := (i + max(0, round)) % len(contenders)
			if c.before != nil {
				if err := c.before(); err != nil {
					return nil, fmt.Errorf("%s: %w", c.name, err)
				}
			}
			for {
				took, allocs, err := measure(c.run, repeat[at])
				if err != nil {
					return nil, fmt.Errorf("%s: %w", c.name, err)
				}
				if round < 0 && c.before == nil && took < least {
					repeat[at] *= 2
					continue
				}
				if round >= 0 {
					times[at] = append(times[at], took/time.Duration(repeat[at]))
					objects[at] = append(objects[at], allocs/float64(repeat[at]))
				}
				break
			}
		}
	}
	results := make([]result, len(contenders))
	for i := range results {
		results[i] = result{median(times[i]), median(objects[i])}
	}
	return results, nil
}

func measure(run func() error, repeat int) (time.Duration, float64, error) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	for range repeat {
		if err := run(); err != nil {
			return 0, 0, err
		}
	}
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	return took, float64(after.Mallocs - before.Mallocs), nil
}

func median[T time.Duration | float64](values []T) T {
	s := slices.Clone(values)
	slices.Sort(s)
	return s[len(s)/2]
}

// per returns nanoseconds per item.
func (r result) per(n int) string {
	return fmt.Sprintf("%.1f", float64(r.time.Nanoseconds())/float64(n))
}

func (r result) total() string {
	switch {
	case r.time < time.Millisecond:
		return fmt.Sprintf("%.0f us", float64(r.time.Nanoseconds())/1e3)
	case r.time < time.Second:
		return fmt.Sprintf("%.1f ms", float64(r.time.Nanoseconds())/1e6)
	}
	return fmt.Sprintf("%.2f s", r.time.Seconds())
}

func (r result) to(peer result) string {
	return fmt.Sprintf("%.2f x", float64(r.time)/float64(peer.time))
}

func (r result) objects() string { return fmt.Sprintf("%.0f", r.allocs) }
