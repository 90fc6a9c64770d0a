package delve

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/clewdbg/clew/server/lifeline"
)

// EndSignals returns the signals that end a server in order: a program that it has
// launched is killed, one that it has attached to goes on. SIGHUP, when the terminal is closed,
// is one of them: it would end Delve's server at once, and a process that it has
// attached to with it, at the next breakpoint. Where it was ignored from the start
// (nohup) it still is. From now on a further signal does not end the server before it has
// let go of the program. That its front is gone counts as SIGTERM.
func EndSignals() <-chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(c, syscall.SIGHUP)
	}
	if front := lifeline.BehindFront(); front != nil {
		go func() {
			<-front
			select {
			case c <- syscall.SIGTERM:
			default: // it ends anyway
			}
		}()
	}
	return c
}
