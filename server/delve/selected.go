package delve

import (
	"fmt"

	"github.com/go-delve/delve/pkg/locspec"
)

// Selected gives the goroutine and thread that Delve's commands are about: the
// goroutine 0 where the current thread runs none.
func (s *Session) Selected() (goroutine, thread uint64, err error) {
	group, unlock := s.dbg.LockTargetGroup()
	defer unlock()
	t := group.Selected
	if valid, err := t.Valid(); !valid {
		return 0, 0, err
	}
	if th := t.CurrentThread(); th != nil {
		thread = uint64(th.ThreadID())
	}
	if g := t.SelectedGoroutine(); g != nil {
		goroutine = uint64(g.ID)
	}
	return goroutine, thread, nil
}

// SelectThread makes a thread the one that Delve's commands are about.
func (s *Session) SelectThread(tid uint64) error {
	group, unlock := s.dbg.LockTargetGroup()
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

// SubstitutePath replaces the beginning of a path by the first of the rules
// (from, to) that fits, as Delve does.
func SubstitutePath(path string, rules [][2]string) string {
	if len(rules) == 0 {
		return path
	}
	return locspec.SubstitutePath(path, rules)
}
