package scenario

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func (s *Session) stack(start, levels int) error {
	if err := s.request("?", "stackTrace", object{"threadId": s.number("thread"), "startFrame": start, "levels": levels}); err != nil || !s.last.Success {
		return err
	}
	var body struct{ StackFrames []frame }
	if err := s.last.Decode("body", &body); err != nil || len(body.StackFrames) == 0 {
		return err
	}
	s.frames = body.StackFrames
	return s.frame("0")
}

// variables compares variables of the frame's scopes, as NAME=VALUE, or those below one of them, whose name comes first.
func (s *Session) variables(verb string, want []string) error {
	have := make(map[string]string)
	read := func(reference int64) (below map[string]int64, err error) {
		var body struct {
			Variables []struct {
				Name, Value        string
				VariablesReference int64
			}
		}
		err = s.request("", "variables", object{"variablesReference": reference})
		if err = errors.Join(err, s.last.Decode("body", &body)); err != nil {
			return nil, err
		}
		below = make(map[string]int64)
		for _, v := range body.Variables {
			have[v.Name], below[v.Name] = v.Value, v.VariablesReference
			if v.VariablesReference != 0 && (v.VariablesReference >= clews) != (reference >= clews) {
				return nil, fmt.Errorf("%s has the reference %d, within %d", v.Name, v.VariablesReference, reference)
			}
		}
		return below, nil
	}
	var body struct {
		Scopes []struct {
			Name               string
			VariablesReference int64
		}
	}
	err := s.request("", "scopes", object{"frameId": s.number("frame")})
	if err = errors.Join(err, s.last.Decode("body", &body)); err != nil {
		return err
	}
	for _, scope := range body.Scopes {
		if !strings.HasPrefix(scope.Name, "Locals") && scope.Name != "Arguments" {
			continue
		}
		below, err := read(scope.VariablesReference)
		if err != nil {
			return err
		}
		s.vars["ref"] = fmt.Sprint(scope.VariablesReference)
		if reference, ok := below[want[0]]; ok && verb == "children" {
			if _, err := read(reference); err != nil {
				return err
			}
			s.vars["ref"], want = fmt.Sprint(reference), want[1:]
			break
		}
	}
	for _, w := range want {
		name, value, _ := strings.Cut(w, "=")
		if have[name] != value {
			s.wrong = append(s.wrong, fmt.Errorf("%s is %q in %v, want %s", name, have[name], have, value))
		}
	}
	return nil
}

// standsIn selects the thread that stands in a function, and its frame.
func (s *Session) standsIn(function string) error {
	var body struct{ Threads []struct{ ID int64 } }
	err := s.request("", "threads", nil)
	if err = errors.Join(err, s.last.Decode("body", &body)); err != nil {
		return err
	}
	for _, t := range body.Threads {
		s.vars["thread"] = fmt.Sprint(t.ID)
		if err := s.stack(0, 50); err != nil {
			return err
		}
		if s.frame(function) == nil {
			return nil
		}
	}
	return errors.New("no thread does")
}

// stacks asks for the stack of each thread whose name matches; of so many of them the functions must match, if that is said.
func (s *Session) stacks(name string) error {
	name, more, counted := strings.Cut(name, " ; ")
	number, functions, _ := strings.Cut(more, " ; ")
	re, err := regexp.Compile(name)
	through, err2 := regexp.Compile(functions)
	if err = errors.Join(err, err2, s.request("", "threads", nil)); err != nil {
		return err
	}
	var body struct {
		Threads []struct {
			ID   int64
			Name string
		}
	}
	if err := s.last.Decode("body", &body); err != nil {
		return err
	}
	matching := 0
	for _, t := range body.Threads {
		if !re.MatchString(t.Name) {
			continue
		}
		var stack struct{ StackFrames []frame }
		err := s.request("", "stackTrace", object{"threadId": t.ID, "levels": 50})
		if err = errors.Join(err, s.last.Decode("body", &stack)); err != nil {
			return err
		}
		var names []string
		for i := range stack.StackFrames {
			names = append(names, stack.StackFrames[i].Name)
		}
		if through.MatchString(strings.Join(names, " ")) {
			matching++
		}
	}
	if counted && strconv.Itoa(matching) != number {
		return fmt.Errorf("%d stacks match", matching)
	}
	return nil
}

func (s *Session) frame(which string) error {
	n, err := strconv.Atoi(which)
	if err != nil {
		n = slices.IndexFunc(s.frames, func(f frame) bool { return f.Name == which || strings.HasPrefix(f.Name, which+"(") })
	}
	if n < 0 || n >= len(s.frames) {
		return fmt.Errorf("it is not among %+v", s.frames)
	}
	s.vars["frame"], s.vars["pc"] = fmt.Sprint(s.frames[n].ID), s.frames[n].PC
	return nil
}

func (s *Session) scope(name string) error {
	if err := s.request("", "scopes", object{"frameId": s.number("frame")}); err != nil {
		return err
	}
	var body struct {
		Scopes []struct {
			Name               string
			VariablesReference int64
		}
	}
	if err := s.last.Decode("body", &body); err != nil {
		return err
	}
	for _, scope := range body.Scopes {
		if scope.Name == name {
			s.vars["ref"] = fmt.Sprint(scope.VariablesReference)
			return nil
		}
	}
	return fmt.Errorf("there are only %+v", body.Scopes)
}
