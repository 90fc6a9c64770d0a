package stop

import (
	"errors"

	"github.com/clewdbg/clew/unwind"
)

// Why a frame that only clew knows has no variables.
var (
	ErrScanned  = errors.New("it was found by scanning the stack: where its variables are would be a guess")
	ErrTailCall = errors.New("its function has jumped to the one before: its frame is gone, and its variables with it")
	ErrNoCFA    = errors.New("its CFA is not known, and so its variables' places are not")
)

// Variables returns why a frame has no variables that can be trusted, nil if it may have some.
func Variables(f *unwind.Frame) error {
	switch {
	case f.Trust <= unwind.TrustScan:
		return ErrScanned
	case f.TailCall:
		return ErrTailCall
	case f.CFA == 0:
		return ErrNoCFA
	}
	return nil
}
