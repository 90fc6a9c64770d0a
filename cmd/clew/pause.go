package main

import (
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/glance"
)

// pauseFlags bound what a listing costs the process.
type pauseFlags struct {
	max    time.Duration
	rounds int
}

func (f *pauseFlags) add(c *cobra.Command) {
	c.Flags().DurationVar(&f.max, "max-pause", 500*time.Millisecond, "listings of --pid: the longest `time` for which the process may stand still (0: no bound); what is not copied in that time is counted and left out")
	c.Flags().IntVar(&f.rounds, "rounds", 1, "listings of --pid: stop the process up to `N` times, each for --max-pause, to copy the goroutines that there was no time for before")
}

// checkPause refuses flags that do not go together.
func (f *stackFlags) checkPause(c *cobra.Command) error {
	listing := f.pid != 0 && f.many(c) && !f.form.Memory
	for _, r := range []refusal{
		{f.pause.max < 0, fmt.Sprintf("--max-pause %v is negative; 0 is no bound", f.pause.max)},
		{f.pause.rounds < 1, fmt.Sprintf("--rounds %d lists nothing; the process is stopped at least once", f.pause.rounds)},
		{!listing && c.Flags().Changed("max-pause"), "--max-pause is for listings of a running process: --pid N, without --goroutine ID and --thread ID; --format snapshot needs a debugger, which holds the process"},
		{!listing && c.Flags().Changed("rounds"), "--rounds is for listings of a running process: --pid N, without --goroutine ID and --thread ID"},
		{f.pause.rounds > 1 && f.values.wanted(), "--rounds lists goroutines without what their frames hold: leave out --values and --registers"},
		{f.pause.rounds > 1 && f.again.wanted(), "--rounds is for one listing, without --count and --watch"},
	} {
		if r.when {
			return usageErrorf("%s", r.why)
		}
	}
	return nil
}

// rest yields the threads of a listing that there was no room for at once: those of the same stop, and then of further rounds.
func (l *listed) rest() iter.Seq[[]reading.Thread] {
	return func(yield func([]reading.Thread) bool) {
		if l.glanced == nil {
			return
		}
		for {
			for part := l.glanced.More(); len(part) > 0; part = l.glanced.More() {
				if !yield(part) {
					return
				}
			}
			if l.rounds >= l.flags.pause.rounds || !l.again() {
				return
			}
			if !yield(l.threads) {
				return
			}
		}
	}
}

// again stops the process once more, for the goroutines that were not copied before.
func (l *listed) again() bool {
	if l.values != nil || l.flags.again.wanted() || !l.glanced.Rest() {
		return false
	}
	l.rounds++
	next, err := l.flags.look(l.ctx, l.process, l.engine, l.glanced)
	if err != nil {
		l.roundErr = fmt.Errorf("round %d: %w", l.rounds, err)
		return false
	}
	l.at, l.prepared, l.left = next.at, next.prepared, next.left
	l.paused = max(l.paused, next.paused)
	l.corrupt = append(l.corrupt, next.corrupt...)
	l.threads = nil
	for i := range next.threads {
		if next.threads[i].Goroutine != 0 { // the others were listed in the first round
			l.threads = append(l.threads, next.threads[i])
		}
	}
	return true
}

// asleep notes why a thread's stack may be missing or older than the others.
func (l *listed) asleep(thread uint64) []string {
	for i := range l.left.Threads {
		if t := &l.left.Threads[i]; t.ID == thread {
			return []string{t.String()}
		}
	}
	return nil
}

// threadsNamed is how many threads that did not stop are named.
const threadsNamed = 5

// tellLeft says what a listing lacks. complete is false if it lacks stacks.
func tellLeft(to io.Writer, pid int, left *glance.Left, roundErr error) (complete bool) {
	complete = true
	if roundErr != nil {
		tell(to, "%v", roundErr)
		complete = false
	}
	if left.Places > 0 {
		complete = false
		why := fmt.Sprintf("within --max-pause %v; allow more, or go on in further stops with --rounds", left.Limit)
		if left.Memory {
			why = "for lack of memory; go on in further stops with --rounds"
		}
		tell(to, "process %d: %s of %s places in the runtime's list of goroutines were not copied %s %d", pid, export.Thousands(int(left.Places)), export.Thousands(int(left.Of)), why, roundsFor(left))
	}
	if left.Labels > 0 {
		tell(to, "process %d: the labels of %s goroutines are not known: there are too many different ones", pid, export.Thousands(left.Labels))
	}
	var named []string
	for i := range left.Threads {
		t := &left.Threads[i]
		complete = complete && t.Known
		if len(named) < threadsNamed {
			named = append(named, t.String())
		}
	}
	if more := len(left.Threads) - len(named); more > 0 {
		named = append(named, fmt.Sprintf("%s more", export.Thousands(more)))
	}
	if len(named) > 0 {
		tell(to, "process %d: not waited for: %s", pid, strings.Join(named, "; "))
	}
	return complete
}

// roundsFor is how many rounds the whole list takes if each copies as much as the first.
func roundsFor(left *glance.Left) int {
	done := max(left.Of-left.Places, 1)
	return int(min((left.Of+done-1)/done+1, 1000))
}
