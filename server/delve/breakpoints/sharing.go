package breakpoints

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/values"
)

// Several breakpoints of the set's may be at one address: two lines of which one has no code, a line and a function. Delve writes the first; the others are
// its guests. Where threads come to it, each is judged by itself, and the first that holds is the one that has stopped them. When the first is removed, a guest is
// written in its place before the program runs on.

// at lists the breakpoints that are wanted at an address, by their numbers.
func (s *Set) at(addr uint64) (out []*breakpoint) {
	for _, id := range slices.Sorted(maps.Keys(s.all)) {
		if b := s.all[id]; b.logical.Enabled() && b.wants(addr) {
			out = append(out, b)
		}
	}
	return out
}

// host writes guests whose host is gone, and notes who is one.
func (s *Set) host(t *proc.Target) {
	before := s.guests
	s.guests = nil
	for _, id := range slices.Sorted(maps.Keys(s.all)) {
		b := s.all[id]
		if !b.logical.Enabled() {
			continue
		}
		for _, p := range b.last {
			bp := t.Breakpoints().M[p.Addr]
			if (bp == nil || bp.UserBreaklet() == nil) && before[guest{id, p.Addr}] {
				bp, _ = t.SetBreakpoint(id, p.Addr, proc.UserBreakpoint, nil) // one that is not code any more
			}
			if bp != nil && bp.UserBreaklet() != nil && bp.LogicalID() != id {
				if s.guests == nil {
					s.guests = make(map[guest]bool)
				}
				s.guests[guest{id, p.Addr}] = true
			}
		}
	}
}

// guest is a breakpoint at an address where another is written.
type guest struct {
	id   int
	addr uint64
}

// judgeAll is judge where several are at the thread's address.
func (s *Set) judgeAll(t *proc.Target, th proc.Thread, user *proc.Breaklet, all []*breakpoint) {
	state := th.Breakpoint()
	var stops *breakpoint
	var why error
	for _, b := range all {
		holds, err := s.holds(t, th, Shown(b.logical.Cond()))
		if !holds && err == nil {
			continue
		}
		counts := err != nil || hitHolds(b.logical)
		if counts && b.message == nil && stops == nil {
			stops, why = b, err
			continue // Delve counts the hit
		}
		count(b.logical, th)
		if counts && b.message != nil && err == nil {
			s.log(t, th, b.message)
		}
	}
	passed := *state.Breakpoint
	passed.Breaklets = slices.DeleteFunc(slices.Clone(passed.Breaklets), func(b *proc.Breaklet) bool { return b == user })
	if stops != nil {
		id := stops.logical.LogicalID
		own := &proc.Breaklet{Kind: proc.UserBreakpoint, LogicalID: id}
		own.SetCallback(func(proc.Thread, *proc.Target) (bool, error) { return true, why })
		passed.Logical = stops.logical
		passed.Breaklets = append(passed.Breaklets, own)
	}
	state.Breakpoint = &passed
}

// holds says whether a condition holds in a thread's frame; none holds always.
func (s *Set) holds(t *proc.Target, th proc.Thread, cond string) (holds bool, err error) {
	if cond == "" {
		return true, nil
	}
	err = s.InFrame(t, th, func(f *values.Frame) (err error) {
		holds, err = f.Holds(cond)
		return err
	})
	if err != nil {
		err = &ConditionError{cond, err}
	}
	return holds, err
}

func count(l *proc.LogicalBreakpoint, th proc.Thread) {
	l.TotalHitCount++
	if g, err := proc.GetG(th); err == nil && g != nil {
		l.HitCount[g.ID]++
	}
}

// hitHolds says whether a breakpoint's condition on its hits holds at the next.
func hitHolds(l *proc.LogicalBreakpoint) bool {
	var op string
	var n int
	if _, err := fmt.Sscanf(l.HitCond(), "%s %d", &op, &n); err != nil {
		return true // it has none
	}
	switch hits := int(l.TotalHitCount) + 1; op {
	case "==":
		return hits == n
	case "!=":
		return hits != n
	case ">":
		return hits > n
	case "<":
		return hits < n
	case ">=":
		return hits >= n
	case "<=":
		return hits <= n
	default:
		return n != 0 && hits%n == 0
	}
}
