package main

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clewdbg/clew/internal/printable"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/server/listing"
	"github.com/clewdbg/clew/server/live"
)

// tellUnwanted says what there is, if the filters let nothing pass.
func (l *listed) tellUnwanted(to io.Writer) {
	all := l.unwanted.Goroutines
	if l.matched || all == 0 {
		return
	}
	var parts []string
	for i, s := range l.unwanted.States() {
		if i == statesNamed {
			parts = append(parts, "others")
			break
		}
		parts = append(parts, fmt.Sprintf("%s %s", export.Thousands(s.Count), printable.Text(s.Of)))
	}
	tell(to, "the filters let none of %s goroutines pass; there are: %s", export.Thousands(all), strings.Join(parts, ", "))
}

// statesNamed is how many states a message names.
const statesNamed = 6

// tellCorrupt says what of the goroutines could not be read.
func (l *listed) tellCorrupt(to io.Writer) {
	if l.unlisted != nil {
		tell(to, "which goroutines there are is not known, and all threads are shown: %v", l.unlisted)
	}
	for i, err := range l.corrupt {
		if i == corruptShown {
			tell(to, "%d more goroutines could not be read", len(l.corrupt)-i)
			break
		}
		tell(to, "a goroutine could not be read: %v", err)
	}
}

// corruptShown is how many goroutines that cannot be read are named.
const corruptShown = 3

// about is what JSON says of the stops.
func (l *listed) about() export.About {
	out := export.About{Time: l.started.UTC(), StoodStill: l.paused.Seconds()}
	if left := &l.left; left.Places > 0 || left.Labels > 0 || len(left.Threads) > 0 {
		out.NotCopied = &export.NotCopied{Places: left.Places, Labels: left.Labels}
		if left.Places > 0 {
			out.NotCopied.Of = left.Of
		}
		for i := range left.Threads {
			out.NotCopied.Threads = append(out.NotCopied.Threads, left.Threads[i].ID)
		}
	}
	return out
}

// ours is which code is the user's own.
func (l *listed) ours() listing.Ours {
	out := listing.Ours{Patterns: append(slices.Clip(l.flags.ownConfigured), l.flags.listing.own...)}
	path := l.flags.executable
	if l.flags.pid == 0 && path == "" {
		return out // before a server
	}
	if l.flags.pid != 0 {
		path = fmt.Sprintf("/proc/%d/exe", l.flags.pid)
	}
	if info, err := buildinfo.ReadFile(path); err == nil {
		out.Module = info.Main.Path
	}
	if name, err := os.Readlink(path); err == nil {
		path = strings.TrimSuffix(name, " (deleted)")
	}
	if path, err := filepath.Abs(path); err == nil {
		out.Image = path
	}
	return out
}

// scheduler is what the runtime's scheduler does, as far as that is known.
func (l *listed) scheduler() string {
	v, ok := l.at.View.(interface{ Scheduler() (live.Scheduler, bool) })
	if !ok {
		return ""
	}
	s, ok := v.Scheduler()
	if !ok {
		return "the scheduler's state is not known"
	}
	text := fmt.Sprintf("GOMAXPROCS %d", s.Processors)
	switch {
	case s.Idle > 0:
		text += fmt.Sprintf(", %d idle", s.Idle)
	case s.Idle < 0:
		text += ", how many are idle is not known"
	}
	switch {
	case s.Collecting:
		text += "; a garbage collection runs"
	case !s.PhaseKnown:
		text += "; whether a garbage collection runs is not known"
	}
	return text
}
