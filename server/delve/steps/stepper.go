package steps

import (
	"github.com/clewdbg/clew/server/delve/held"
	"github.com/clewdbg/clew/server/delve/reading"
)

// Stepper has steps of a program end where they were decided to. It is not safe for concurrent use.
type Stepper struct {
	program *held.Program
	reader  *reading.Reader
	cgo     *cgo // of the program; nil until it was searched for it
}

// newStepper returns one for a program that a reader reads.
func New(p *held.Program, r *reading.Reader) *Stepper { return &Stepper{program: p, reader: r} }

// ForgetProcess forgets all facts about one process.
func (s *Stepper) ForgetProcess() { s.cgo = nil }
