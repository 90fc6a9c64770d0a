package session

import (
	"fmt"
	"time"
)

// State is what the program does, as far as clients have to know.
type State int

// The states. A program that has exited is stopped: Delve says so.
const (
	Stopped State = iota
	// Changing is a command that needs the stopped program for itself, and is over soon.
	Changing
	Running
	Stepping
	Restarting
	Ending
)

var stateWords = map[State]string{
	Changing: "the program is being changed", Running: "the program is running", Stepping: "the program is running",
	Restarting: "the program is being restarted", Ending: "the session is ending",
}

// String describes the state as an error does.
func (s State) String() string {
	if words, ok := stateWords[s]; ok {
		return words
	}
	return "the program is stopped"
}

// BusyError says that a request cannot be answered in this state, and who has caused it.
type BusyError struct {
	State   State
	By      string // the client's name
	Command string
}

// Error names the client and its command.
func (e *BusyError) Error() string {
	switch {
	case e.By == "":
		return e.State.String()
	case e.State == Running || e.State == Stepping:
		return fmt.Sprintf("%v: %s has resumed it (%s)", e.State, e.By, e.Command)
	}
	return fmt.Sprintf("%v (%s of %s)", e.State, e.Command, e.By)
}

// ReadError says that a command has waited for requests of other clients in vain.
type ReadError struct {
	By      string // one of these clients
	Request string
}

// Error names the client and its request.
func (e *ReadError) Error() string {
	return fmt.Sprintf("%s still reads the program (%s): ask again", e.By, e.Request)
}

// Bounds on waiting.
const (
	// readPatience bounds the wait of a command for requests that read the program.
	readPatience = 5 * time.Second
	// haltAgain is the time after which a halt that had no effect is repeated.
	haltAgain = 50 * time.Millisecond
	// insistAfter is how often a halt is repeated before it insists.
	insistAfter = 4
	// nudgeAgain is the time after which Delve is halted once more for work aside.
	nudgeAgain = 2 * time.Millisecond
	// askPatience bounds the wait for the answer to a client's own halt, once the program has stopped.
	askPatience = time.Second
	// announcePatience bounds the wait of a halt for a program that was resumed to run.
	announcePatience = time.Second
	// endPatience bounds the wait of a client's request for the halt of its own run.
	endPatience = time.Second
	// wholePatience bounds the wait of work aside for a call.
	wholePatience = 500 * time.Millisecond
	// asidePatience bounds how long a program is kept from running on.
	asidePatience = time.Second
)
