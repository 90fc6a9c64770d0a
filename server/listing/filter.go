package listing

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clewdbg/clew/unwind"
)

// Filter says whether a stack is wanted.
type Filter func(*unwind.Stack) bool

// simple are the filters without an argument.
var simple = map[string]Filter{
	"user":    func(s *unwind.Stack) bool { return Own(s) != nil },
	"running": func(s *unwind.Stack) bool { return s.Thread != 0 && (s.State == nil || s.State.Status != "waiting") },
	"waiting": func(s *unwind.Stack) bool { return s.State != nil && s.State.Status == "waiting" },
	"native":  func(s *unwind.Stack) bool { return native(s) != nil },
	"in-c":    func(s *unwind.Stack) bool { return len(s.Frames) > 0 && !isGo(&s.Frames[0]) },
}

// framed are the filters by a text that something of any frame contains.
var framed = map[string]func(*unwind.Frame) string{
	"frame":    func(f *unwind.Frame) string { return where(f) + " of " + f.Image },
	"function": func(f *unwind.Frame) string { return f.Function },
	"file":     func(f *unwind.Frame) string { return f.File },
	"image":    func(f *unwind.Frame) string { return f.Image },
}

// Filters is what filters there are, for messages.
const Filters = "user, running, waiting, native, in-c; frame, function, file or image TEXT (of any frame); userloc, curloc, goloc or startloc TEXT; label NAME[=VALUE]; waits > TIME"

// located are the filters by a text that the place of a frame contains.
var located = map[string]func(*unwind.Stack) string{
	"curloc":  func(s *unwind.Stack) string { return where(first(s.Frames)) },
	"userloc": func(s *unwind.Stack) string { return where(Own(s)) },
	"startloc": func(s *unwind.Stack) string {
		frames := s.Frames
		for len(frames) > 0 && frames[len(frames)-1].Function == "runtime.goexit" {
			frames = frames[:len(frames)-1]
		}
		return where(last(frames))
	},
	"goloc": func(s *unwind.Stack) string {
		if s.State == nil || s.State.CreatedBy == nil {
			return ""
		}
		c := s.State.CreatedBy
		return place(c.File, c.Line, c.Function)
	},
}

// ParseFilter reads a filter as Delve's goroutines command has them: user, running,
// waiting; userloc, curloc, goloc or startloc TEXT; label NAME[=VALUE]. Beside those,
// native stands for a stack with other code than Go's, in-c for one that is there now; frame, function, file and image look at
// every frame; waits > 1m at how long it waits at least.
func ParseFilter(text string) (Filter, error) {
	name, argument, _ := strings.Cut(strings.TrimSpace(text), " ")
	argument = strings.TrimSpace(argument)
	if f, ok := simple[name]; ok && argument == "" {
		return f, nil
	}
	if known := located[name] != nil || framed[name] != nil || name == "label" || name == "waits"; known && argument == "" {
		return nil, fmt.Errorf("filter %s needs a text, within the same quotes: \"%s TEXT\"", name, name)
	}
	if argument == "" {
		return nil, fmt.Errorf("unknown filter %q; known: %s", text, Filters)
	}
	if of, ok := located[name]; ok {
		return func(s *unwind.Stack) bool { return strings.Contains(of(s), argument) }, nil
	}
	if of, ok := framed[name]; ok {
		return func(s *unwind.Stack) bool {
			return slices.ContainsFunc(s.Frames, func(f unwind.Frame) bool { return strings.Contains(of(&f), argument) })
		}, nil
	}
	if name == "waits" {
		return longerThan(argument)
	}
	if name == "label" {
		key, value, exact := strings.Cut(argument, "=")
		return func(s *unwind.Stack) bool {
			if s.State == nil {
				return false
			}
			got, ok := s.State.Labels[key]
			return ok && (!exact || got == value)
		}, nil
	}
	return nil, fmt.Errorf("unknown filter %q; known: %s", text, Filters)
}

// longerThan reads "> 1m": what waits for longer than that, as far as that is known.
func longerThan(argument string) (Filter, error) {
	text, ok := strings.CutPrefix(argument, ">")
	least, err := time.ParseDuration(strings.TrimSpace(text))
	if !ok || err != nil {
		return nil, fmt.Errorf("filter waits needs a time, within the same quotes: \"waits > 1m30s\"")
	}
	now := time.Now()
	return func(s *unwind.Stack) bool {
		return s.State != nil && !s.State.WaitSince.IsZero() && now.Sub(s.State.WaitSince) > least
	}, nil
}

func first(frames []unwind.Frame) *unwind.Frame {
	if len(frames) == 0 {
		return nil
	}
	return &frames[0]
}

func last(frames []unwind.Frame) *unwind.Frame {
	if len(frames) == 0 {
		return nil
	}
	return &frames[len(frames)-1]
}

// where is a frame's place, as Delve's filters compare it.
func where(f *unwind.Frame) string {
	if f == nil {
		return ""
	}
	return place(f.File, f.Line, f.Function)
}

func place(file string, line int, function string) string {
	return fmt.Sprintf("%s:%d in %s", file, line, function)
}

// native returns the innermost frame of other code than Go's, nil if all are Go's.
func native(s *unwind.Stack) *unwind.Frame {
	for i := range s.Frames {
		if f := &s.Frames[i]; f.Strategy != unwind.StrategyGopclntab && f.Strategy != unwind.StrategyRegisters && f.Strategy != "" {
			return f
		}
	}
	return nil
}
