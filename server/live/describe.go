package live

import (
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/internal/goruntime"
	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/unwind"
)

// described keeps what the stacks of a stop have in common.
type described struct {
	notes     *goruntime.Notes // nil where the runtime's structures are not known
	creations map[uint64]unwind.Creation
}

// Describe adds to a stack what the system and Go's runtime say of its thread and
// goroutine.
func (v *View) Describe(th *reading.Thread, st *unwind.Stack) {
	if v.described == nil {
		v.described = &described{notes: v.source.Notes(), creations: make(map[uint64]unwind.Creation)}
	}
	if pid := v.place.LocalPid(); pid != 0 && th.ID != 0 {
		st.ThreadName = procfs.ThreadName(pid, th.ID)
	}
	if v.described.notes != nil && th.State != nil && th.Goroutine != 0 {
		st.State = v.state(th.State)
	}
}

// Scheduler is what Go's scheduler does.
type Scheduler = goruntime.Scheduler

// Scheduler returns it; ok is false where it is not known.
func (v *View) Scheduler() (s Scheduler, ok bool) {
	if n := v.source.Notes(); n != nil {
		return n.Scheduler()
	}
	return s, false
}

func (v *View) state(s *goruntime.State) *unwind.State {
	d := v.described
	out := &unwind.State{
		Status: s.StatusName(), WaitReason: d.notes.WaitReason(s), Labels: d.notes.Labels(s),
		WaitsOn: d.notes.WaitsOn(s), LockedThread: s.LockedThread,
	}
	if v.place.LocalPid() != 0 { // of another machine or a core file, how long ago a time is cannot be said
		out.WaitSince = d.notes.WaitSince(s)
	}
	if s.GoPC != 0 && s.Parent != 0 { // the first goroutine has none, the runtime started it
		c := v.creation(s.GoPC)
		c.Goroutine = s.Parent
		out.CreatedBy = &c
	}
	for _, a := range d.notes.Ancestors(s) {
		to := unwind.Ancestor{Goroutine: a.Goroutine}
		for _, pc := range a.PCs {
			to.Calls = append(to.Calls, v.creation(pc))
		}
		out.Ancestors = append(out.Ancestors, to)
	}
	return out
}

// creation names the statement whose call returns to pc.
func (v *View) creation(pc uint64) unwind.Creation {
	c, ok := v.described.creations[pc]
	if !ok {
		c = v.named(pc)
		v.described.creations[pc] = c
	}
	return c
}

func (v *View) named(pc uint64) unwind.Creation {
	at := unwind.Stack{Frames: []unwind.Frame{{PC: unwind.Code(pc, unwind.KindReturn)}}}
	v.loaded.code.Name(&at)
	f := &at.Frames[0] // the innermost: the function that the statement was written in
	return unwind.Creation{PC: unwind.ReturnAddr(pc), Function: f.Function, File: f.File, Line: f.Line}
}
