package export

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/clewdbg/clew/internal/printable"
	"github.com/clewdbg/clew/unwind"
)

// heading is a stack's title with what is known of its goroutine and thread:
// "goroutine 7 [chan receive, at least 12 min; locked to thread 9; worker=3]".
func heading(s *unwind.Stack, now time.Time) string {
	text := title(s)
	if s.ThreadName != "" {
		text += ` "` + printable.Text(s.ThreadName) + `"`
	}
	if s.State == nil {
		return text
	}
	state := []string{Status(s.State)}
	if since := s.State.WaitSince; !since.IsZero() {
		state[0] += ", at least " + Duration(now.Sub(since))
	}
	if s.State.WaitsOn != 0 {
		state[0] += fmt.Sprintf(" on %#x", s.State.WaitsOn)
	}
	if s.State.LockedThread != 0 {
		state = append(state, fmt.Sprintf("locked to thread %d", s.State.LockedThread))
	}
	if labels := Labels(s.State); labels != "" {
		state = append(state, labels)
	}
	return text + " [" + strings.Join(state, "; ") + "]"
}

// Status is what a goroutine does, in one word or two: what it waits for, where
// that is known.
func Status(s *unwind.State) string {
	return cmp.Or(printable.Text(s.WaitReason), s.Status)
}

// Labels are a goroutine's labels in the order of their names: "a=1, b=2".
func Labels(s *unwind.State) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.Labels)) {
		out = append(out, printable.Text(name+"="+s.Labels[name]))
	}
	return strings.Join(out, ", ")
}

// CreatedBy says where a goroutine was started, "" if that is not known.
func CreatedBy(s *unwind.State) string {
	if s == nil || s.CreatedBy == nil || s.CreatedBy.Function == "" {
		return ""
	}
	c := s.CreatedBy
	text := "created by " + c.Function
	if c.Goroutine != 0 {
		text += fmt.Sprintf(" in goroutine %d", c.Goroutine)
	}
	if c.File != "" {
		text += fmt.Sprintf(" at %s:%d", shortPath(c.File), c.Line)
	}
	return printable.Text(text)
}

// Duration writes a time in its largest unit, rounded down: "12 min".
func Duration(d time.Duration) string {
	for _, u := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "days"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}} {
		if d >= 2*u.size || u.size == time.Second {
			return fmt.Sprintf("%d %s", d/u.size, u.name)
		}
	}
	return ""
}

// title names a stack: "goroutine 1, thread 4711".
func title(s *unwind.Stack) string {
	switch {
	case s.Goroutine != 0 && s.Thread != 0:
		return fmt.Sprintf("goroutine %d, thread %d", s.Goroutine, s.Thread)
	case s.Goroutine != 0:
		return fmt.Sprintf("goroutine %d", s.Goroutine)
	case s.Thread != 0:
		return fmt.Sprintf("thread %d", s.Thread)
	}
	return "stack"
}
