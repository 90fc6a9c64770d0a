package debuggee

import (
	"fmt"
	"io"
)

// A program behind a Delve server has other clients, which can let it run and
// change it without a word to this session. What was read of it counts only if
// it stands still all the while; see [stop.Stops]. Where it has moved, IDs of frames
// are void, as after a stop, and Delve's own answer goes out.

// reachRemote reaches the program, in the background: it may run already, and
// then nothing answers.
func (l *Program) reachRemote() {
	done := l.Stops.Expect()
	if done == nil {
		return
	}
	go func() {
		defer done()
		target, program, err := l.Remote(l.Wire.Context())
		if err != nil {
			l.Wire.Log("reach the program: %v", err)
			if l.Wire.Context().Err() == nil {
				l.Wire.Client.Console(fmt.Sprintf("clew: stacks and steps are Delve's own: %v", err))
			}
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.Stops.Watch(target, program)
		if c, ok := target.(io.Closer); ok && l.closed {
			_ = c.Close()
		}
	}()
}
