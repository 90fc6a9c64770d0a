package stackjson

import (
	"maps"
	"math"
	"time"

	"github.com/clewdbg/clew/internal/unwind/jsonread"
	"github.com/clewdbg/clew/unwind"
)

// FromState returns the form of a goroutine's state, nil for nil.
func FromState(s *unwind.State) *State {
	if s == nil {
		return nil
	}
	out := &State{Status: s.Status, WaitReason: s.WaitReason, LockedThread: s.LockedThread, Labels: s.Labels, WaitsOn: Address(s.WaitsOn)}
	if !s.WaitSince.IsZero() {
		out.WaitSince = s.WaitSince.UTC().Format(time.RFC3339)
	}
	if c := s.CreatedBy; c != nil {
		out.CreatedBy = &Creation{Function: c.Function, File: c.File, Line: max(c.Line, 0), Goroutine: c.Goroutine}
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
	return out
}

var (
	stateFields = [...]jsonread.Fields{
		formOutput:   {Required: []string{"status"}, Optional: stateOptional},
		formExpected: {Optional: append([]string{"status"}, stateOptional...)},
	}
	stateOptional  = []string{"waitReason", "waitSince", "lockedThread", "labels", "createdBy", "waitsOn"}
	creationFields = jsonread.Fields{Optional: []string{"function", "file", "line", "goroutine"}}
)

func readState(r *jsonread.Reader, as form) (*State, error) {
	s := &State{}
	err := r.Struct(&stateFields[as], func(name string) (err error) {
		switch name {
		case "status":
			s.Status, err = r.String()
		case "waitReason":
			s.WaitReason, err = r.String()
		case "waitSince":
			if s.WaitSince, err = r.String(); err == nil {
				if _, bad := time.Parse(time.RFC3339, s.WaitSince); bad != nil {
					err = r.Wrap(bad)
				}
			}
		case "lockedThread":
			s.LockedThread, err = r.Uint(math.MaxUint64)
		case "labels":
			s.Labels, err = readLabels(r)
		case "createdBy":
			s.CreatedBy, err = readCreation(r)
		case "waitsOn":
			s.WaitsOn, err = ReadAddress(r)
		}
		return err
	})
	return s, err
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

func readCreation(r *jsonread.Reader) (*Creation, error) {
	c := &Creation{}
	err := r.Struct(&creationFields, func(name string) (err error) {
		switch name {
		case "function":
			c.Function, err = r.String()
		case "file":
			c.File, err = r.String()
		case "line":
			c.Line, err = readInt(r)
		case "goroutine":
			c.Goroutine, err = r.Uint(math.MaxUint64)
		}
		return err
	})
	return c, err
}
