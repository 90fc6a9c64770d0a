package delve

import "github.com/clewdbg/clew/server/delve/held"

// Stepper has steps of a program end where they were decided to. It is not safe for concurrent use.
type Stepper struct {
	program *held.Program
	reader  *Reader
	cgo     *cgo // of the program; nil until it was searched for it
}

// newStepper returns one for a program that a reader reads.
func newStepper(p *held.Program, r *Reader) *Stepper { return &Stepper{program: p, reader: r} }

// forgetProcess forgets all facts about one process.
func (s *Stepper) forgetProcess() { s.cgo = nil }
