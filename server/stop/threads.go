package stop

import (
	"fmt"

	"github.com/clewdbg/clew/server/delve/reading"
)

// Key names a thread of control: a goroutine, or a thread without one.
type Key struct{ Goroutine, Thread uint64 }

// KeyOf is the key of a thread of control.
func KeyOf(th *reading.Thread) Key {
	if th.Goroutine != 0 {
		return Key{Goroutine: th.Goroutine}
	}
	return Key{Thread: th.ID}
}

// Selected is the thread of control that the debugger has selected. Where Go came
// with a library, Delve may take any word of a thread's memory for its g, and
// select a goroutine that does not exist: then it is the thread.
func (s *Stopped) Selected() (reading.Thread, error) {
	selected, err := s.Debugger.Selected()
	if err != nil {
		return reading.Thread{}, err
	}
	if selected.Goroutine != 0 {
		th, err := s.Goroutine(selected.Goroutine)
		if err == nil || !s.Debugger.InLibrary() {
			return th, err
		}
	}
	return s.Thread(selected.Thread)
}

// Goroutine finds a goroutine. It is the same each time at a stop.
func (s *Stopped) Goroutine(id uint64) (reading.Thread, error) {
	if th, ok := s.goroutines[id]; ok {
		return th, nil
	}
	th, err := s.View.Goroutine(id)
	if err == nil {
		s.goroutines[id] = th
	}
	return th, err
}

// Thread finds a thread.
func (s *Stopped) Thread(id uint64) (reading.Thread, error) {
	threads, err := s.Threads()
	if err != nil {
		return reading.Thread{}, err
	}
	for _, th := range threads {
		if th.ID == id {
			return th, nil
		}
	}
	return reading.Thread{}, fmt.Errorf("there is no thread %d", id)
}

// again finds the thread of control of a stack at this stop.
func (s *Stopped) again(st *Stack) (reading.Thread, error) {
	switch {
	case st.stopped == s:
		return st.Thread, nil
	case st.Thread.Goroutine != 0:
		return s.Goroutine(st.Thread.Goroutine)
	}
	return s.Thread(st.Thread.ID)
}
