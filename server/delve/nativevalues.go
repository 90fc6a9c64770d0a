package delve

import (
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/values"
)

// InThread does work in the innermost frame of a thread that stands in native code; native is false for other code.
func (s *Session) InThread(thread int, work func(*values.Frame) error) (native bool, err error) {
	group, unlock, err := s.Stopped()
	if err != nil {
		return false, err
	}
	defer unlock()
	for _, t := range group.Targets() {
		th, ok := t.FindThread(thread)
		if valid, _ := t.Valid(); !ok || !valid || !s.Live() {
			continue
		}
		if pc, err := th.Registers(); err != nil || !s.breaks.IsNative(t, pc.PC()) {
			return false, err
		}
		return true, s.breaks.InFrame(t, th, work)
	}
	return false, reading.ErrNoThread
}
