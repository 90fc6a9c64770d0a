package goruntime

// Scheduler is what Go's scheduler does.
type Scheduler struct {
	Processors int  // GOMAXPROCS
	Idle       int  // of them; -1 where it is not known
	Collecting bool // a garbage collection runs
	PhaseKnown bool // whether one runs is known
}

// maxProcessors bounds what a corrupt length can make us read.
const maxProcessors = 1 << 16

// Scheduler reads it; ok is false where it is not known.
func (n *Notes) Scheduler() (s Scheduler, ok bool) {
	r := n.runtime
	count, err := n.address("runtime.gomaxprocs")
	if err != nil {
		return s, false
	}
	s.Processors = int(uint32(r.ReadPointer(count, 0)))
	if s.Processors == 0 || s.Processors > maxProcessors {
		return s, false
	}
	if phase, err := n.address("runtime.gcphase"); err == nil {
		s.Collecting, s.PhaseKnown = uint32(r.ReadPointer(phase, 0)) != 0, true
	}
	s.Idle = n.idle(s.Processors)
	return s, true
}

// idle counts the processors without work, -1 if their list is not as it should be: each has
// its index as its ID.
func (n *Notes) idle(processors int) (idle int) {
	r, l := n.runtime, n.runtime.Layout
	all, err := n.address("runtime.allp")
	if err != nil || l.pStatus < 0 || l.pID < 0 {
		return -1
	}
	list := r.ReadPointer(all, 0)
	for i := range processors {
		p := r.ReadPointer(list, int64(8*i))
		if p == 0 || uint32(r.ReadPointer(p, l.pID)) != uint32(i) {
			return -1
		}
		if uint32(r.ReadPointer(p, l.pStatus)) == 0 { // _Pidle
			idle++
		}
	}
	return idle
}
