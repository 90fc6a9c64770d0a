package goruntime

// Scheduler is what Go's scheduler does.
type Scheduler struct {
	Processors int  // GOMAXPROCS
	Idle       int  // of them
	Collecting bool // a garbage collection runs
}

// maxProcessors bounds what a corrupt length can make us read.
const maxProcessors = 1 << 16

// Scheduler reads it; ok is false where it is not known.
func (n *Notes) Scheduler() (s Scheduler, ok bool) {
	r, l := n.runtime, n.runtime.Layout
	count, err := n.address("runtime.gomaxprocs")
	if err != nil {
		return s, false
	}
	s.Processors = int(uint32(r.ReadPointer(count, 0)))
	if s.Processors == 0 || s.Processors > maxProcessors {
		return s, false
	}
	if phase, err := n.address("runtime.gcphase"); err == nil {
		s.Collecting = uint32(r.ReadPointer(phase, 0)) != 0
	}
	if all, err := n.address("runtime.allp"); err == nil && l.pStatus >= 0 {
		list := r.ReadPointer(all, 0)
		for i := range s.Processors {
			p := r.ReadPointer(list, int64(8*i))
			if p != 0 && uint32(r.ReadPointer(p, l.pStatus)) == 0 { // _Pidle
				s.Idle++
			}
		}
	}
	return s, true
}
