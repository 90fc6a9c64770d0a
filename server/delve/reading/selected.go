package reading

import (
	"fmt"

	"github.com/clewdbg/clew/server/delve/targets"
)

// Selection is the goroutine and thread that Delve's commands are about.
type Selection struct {
	Goroutine uint64 // 0 where the current thread runs none
	Thread    uint64
	// Runtime is set if Go's runtime created the thread (see [Thread]).
	Runtime bool
}

// Selected returns what Delve's commands are about.
func (s *Reader) Selected() (Selection, error) {
	group, unlock, err := s.program.Stopped()
	if err != nil {
		return Selection{}, err
	}
	defer unlock()
	t := group.Selected
	var sel Selection
	if valid, err := t.Valid(); !valid {
		return sel, err
	}
	if g := t.SelectedGoroutine(); g != nil {
		sel.Goroutine = uint64(g.ID)
	}
	th := t.CurrentThread()
	if th == nil {
		return sel, nil
	}
	sel.Thread = uint64(th.ThreadID())
	if sel.Goroutine == 0 {
		s.loadLayout(t)
		if _, tls, err := targets.Registers(th); err == nil {
			sel.Runtime = s.runtime(t).MadeByGo(s.currentG(t, th, tls, s.machines(t)))
		}
	}
	return sel, nil
}

// SelectThread makes a thread the one that Delve's commands are about.
func (s *Reader) SelectThread(tid uint64) error {
	group, unlock, err := s.program.Stopped()
	if err != nil {
		return err
	}
	defer unlock()
	t := group.Selected
	if valid, err := t.Valid(); !valid {
		return err
	}
	if _, ok := t.FindThread(int(tid)); !ok {
		return fmt.Errorf("there is no thread %d", tid)
	}
	return t.SwitchThread(int(tid))
}
