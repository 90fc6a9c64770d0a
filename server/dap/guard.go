package dap

// Guard acts if this process is killed: it kills a program that was launched, and mends
// and continues one that was attached to. It is a lifeline.Guard. It is
// told of a launch elsewhere, before Delve has a process to name, and of what Delve does with a process by package delve.
type Guard interface {
	// Restart announces that what was launched is about to be started again.
	Restart() error
	Attach(pid int) error
}

// programGuard tells the guard of what an editor asks for.
type programGuard struct {
	guard Guard // may be nil
	log   func(format string, args ...any)
}

// attaching is called before Delve attaches to a process.
func (g *programGuard) attaching(pid int) {
	if g.guard != nil && pid > 0 {
		g.note(g.guard.Attach(pid))
	}
}

// restarting is called before Delve starts the program again.
func (g *programGuard) restarting() {
	if g.guard != nil {
		g.note(g.guard.Restart())
	}
}

func (g *programGuard) note(err error) {
	if err != nil {
		g.log("guard: %v", err)
	}
}
