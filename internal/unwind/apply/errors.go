package apply

import (
	"errors"
	"fmt"

	"github.com/clewdbg/clew/unwind"
)

// ErrOutermost says that the rule for the return address is "undefined": the
// frame has no caller (DWARF 5, section 6.4.4).
var ErrOutermost = errors.New("return address undefined")

// MissingMemory says that a rule reads memory that is not there.
type MissingMemory struct{ Range unwind.Range }

// Error names the memory.
func (e *MissingMemory) Error() string {
	return fmt.Sprintf("memory [%#x, %#x) is needed", e.Range.Start, e.Range.End)
}

// MissingRegister says that a rule needs a register whose value is not known.
type MissingRegister struct {
	Register unwind.Register
	Name     string
	For      string // "the CFA"
}

// Error names the register.
func (e *MissingRegister) Error() string {
	return fmt.Sprintf("%s needs %s, which is not known", e.For, e.Name)
}

// ImpossibleError says that a rule gives what cannot be.
type ImpossibleError struct {
	CFA    uint64
	Reason string
}

// Error gives the reason.
func (e *ImpossibleError) Error() string { return e.Reason }
