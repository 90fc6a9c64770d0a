package stackjson

// Crash is what ended a program. The stack that died is the first of the stacks beside it.
type Crash struct {
	Signal      string             `json:"signal,omitempty"`  // "SIGSEGV"; "" where none was at work (a panic of Go's)
	Code        string             `json:"code,omitempty"`    // "SEGV_MAPERR"
	Address     *Address           `json:"address,omitempty"` // that the signal is about
	Access      string             `json:"access,omitempty"`  // what was tried there: read, write, execute
	Description string             `json:"description"`       // a sentence
	Thread      uint64             `json:"thread"`
	Goroutine   uint64             `json:"goroutine,omitzero"`
	Frame       *int               `json:"frame,omitempty"`     // of the thread's stack: the one that was interrupted, or that panicked
	Message     string             `json:"message,omitempty"`   // the program's own words
	Sender      uint64             `json:"sender,omitzero"`     // of a signal that was sent: the process
	Time        string             `json:"time,omitempty"`      // RFC 3339
	Registers   map[string]Address `json:"registers,omitempty"` // of the frame
}
