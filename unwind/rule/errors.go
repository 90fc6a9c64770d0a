package rule

import (
	"errors"
	"fmt"
	"strconv"

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

// ImpossibleError is a rule's result that is impossible.
type ImpossibleError struct {
	CFA    uint64
	PC     uint64 // the return address, where that is known
	Reason string
}

// Error returns the reason.
func (e *ImpossibleError) Error() string { return e.Reason }

// EndError says that a return address is a known end of the stack (R8).
type EndError struct{ CFA, PC uint64 }

// Error says which address that is.
func (e *EndError) Error() string {
	return fmt.Sprintf("return address %#x lies below %d (R8)", e.PC, unwind.LowestCode)
}

func hex(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }

func notAddress(base uint64, off int64, cfa uint64) error {
	return &ImpossibleError{CFA: cfa, Reason: fmt.Sprintf("%#x%+d is no address", base, off)}
}
