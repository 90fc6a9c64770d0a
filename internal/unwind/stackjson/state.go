package stackjson

import (
	"maps"
	"time"

	"github.com/clewdbg/clew/internal/unwind/jsonread"
	"github.com/clewdbg/clew/unwind"
)

// fromState returns the form of a goroutine's state, nil for nil.
func fromState(s *unwind.State) *State {
	if s == nil {
		return nil
	}
	out := &State{Status: s.Status, WaitReason: s.WaitReason, LockedThread: s.LockedThread, Labels: s.Labels, WaitsOn: Address(s.WaitsOn)}
	if !s.WaitSince.IsZero() {
		out.WaitSince = s.WaitSince.UTC().Format(time.RFC3339Nano)
	}
	if c := s.CreatedBy; c != nil {
		out.CreatedBy = &Creation{Function: c.Function, File: c.File, Line: max(c.Line, 0), Goroutine: c.Goroutine}
	}
	for _, a := range s.Ancestors {
		to := Ancestor{Goroutine: a.Goroutine, Calls: []Call{}}
		for _, c := range a.Calls {
			to.Calls = append(to.Calls, Call{PC: Address(c.PC), Function: c.Function, File: c.File, Line: max(c.Line, 0)})
		}
		out.Ancestors = append(out.Ancestors, to)
	}
	return out
}

// Domain returns the state in the domain's terms, nil for nil.
func (s *State) Domain() *unwind.State {
	if s == nil {
		return nil
	}
	out := &unwind.State{Status: s.Status, WaitReason: s.WaitReason, LockedThread: s.LockedThread, Labels: maps.Clone(s.Labels), WaitsOn: uint64(s.WaitsOn)}
	out.WaitSince, _ = time.Parse(time.RFC3339, s.WaitSince) // "" is the zero time
	if c := s.CreatedBy; c != nil {
		out.CreatedBy = &unwind.Creation{Function: c.Function, File: c.File, Line: c.Line, Goroutine: c.Goroutine}
	}
	for _, a := range s.Ancestors {
		to := unwind.Ancestor{Goroutine: a.Goroutine}
		for _, c := range a.Calls {
			to.Calls = append(to.Calls, unwind.Creation{PC: unwind.ReturnAddr(c.PC), Function: c.Function, File: c.File, Line: c.Line})
		}
		out.Ancestors = append(out.Ancestors, to)
	}
	return out
}

func (s *State) fields(r *jsonread.Reader, as form) []jsonread.Field {
	return []jsonread.Field{
		field(as != formExpected, "status", &s.Status), jsonread.May("waitReason", &s.WaitReason),
		jsonread.May("waitSince", func() (err error) {
			if s.WaitSince, err = r.String(); err == nil {
				_, err = time.Parse(time.RFC3339, s.WaitSince)
			}
			return r.Wrap(err)
		}),
		jsonread.May("lockedThread", &s.LockedThread), jsonread.May("waitsOn", &s.WaitsOn),
		jsonread.May("labels", func() (err error) { s.Labels, err = readLabels(r); return err }),
		jsonread.May("createdBy", func() error {
			s.CreatedBy = &Creation{}
			c := s.CreatedBy
			return r.Struct(jsonread.May("function", &c.Function), jsonread.May("file", &c.File), jsonread.May("line", &c.Line),
				jsonread.May("goroutine", &c.Goroutine))
		}),
		jsonread.May("ancestors", jsonread.Objects(r, &s.Ancestors, func(a *Ancestor) []jsonread.Field {
			return []jsonread.Field{field(true, "goroutine", &a.Goroutine), field(true, "calls", jsonread.Objects(r, &a.Calls, (*Call).fields))}
		})),
	}
}

func (c *Call) fields() []jsonread.Field {
	return []jsonread.Field{
		field(true, "pc", &c.PC), jsonread.May("function", &c.Function), jsonread.May("file", &c.File), jsonread.May("line", &c.Line),
	}
}

func readLabels(r *jsonread.Reader) (map[string]string, error) {
	out := map[string]string{}
	err := r.Map(func(name string) error {
		value, err := r.String()
		if err == nil {
			err = r.Charge(registerCost + len(name))
		}
		out[name] = value
		return err
	})
	return out, err
}
