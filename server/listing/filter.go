package listing

import (
	"fmt"
	"strings"

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
}

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
// native stands for a stack with other code than Go's.
func ParseFilter(text string) (Filter, error) {
	name, argument, _ := strings.Cut(strings.TrimSpace(text), " ")
	argument = strings.TrimSpace(argument)
	if f, ok := simple[name]; ok && argument == "" {
		return f, nil
	}
	if known := located[name] != nil || name == "label"; known && argument == "" {
		return nil, fmt.Errorf("filter %s needs a text, within the same quotes: \"%s TEXT\"", name, name)
	}
	if argument == "" {
		return nil, fmt.Errorf("unknown filter %q; known: user, running, waiting, native, userloc TEXT, curloc TEXT, goloc TEXT, startloc TEXT, label NAME[=VALUE]", text)
	}
	if of, ok := located[name]; ok {
		return func(s *unwind.Stack) bool { return strings.Contains(of(s), argument) }, nil
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
	return nil, fmt.Errorf("unknown filter %q", text)
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
