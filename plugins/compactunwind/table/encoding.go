package table

// Encoding is how to unwind from a run of code, in 32 bits: 8 that all
// architectures share and 24 that depend on the mode.
type Encoding uint32

// The parts that all architectures share.
const (
	notFunctionStart Encoding = 1 << 31 // the run starts within a function; no linker sets it
	hasLSDA          Encoding = 1 << 30
	personalityMask  Encoding = 3 << 28
	modeMask         Encoding = 15 << 24
	ownMask          Encoding = 1<<24 - 1
)

// Null reports whether there is no unwind information: code by hand, or code
// that needs none. Marks that all architectures share do not change that.
func (e Encoding) Null() bool { return e&(modeMask|ownMask) == 0 }

// HasLSDA reports whether the function has a language-specific data area.
func (e Encoding) HasLSDA() bool { return e&hasLSDA != 0 }

// Personality is the number of the personality routine, from 1; 0 for none.
func (e Encoding) Personality() int { return int(e & personalityMask >> 28) }

// NotFunctionStart reports whether the run starts inside a function.
func (e Encoding) NotFunctionStart() bool { return e&notFunctionStart != 0 }

// mode is the encoding's kind, which each architecture numbers by itself.
func (e Encoding) mode() uint32 { return uint32(e & modeMask >> 24) }

// bits returns n bits from bit low on.
func (e Encoding) bits(low, n uint) uint32 { return uint32(e) >> low & (1<<n - 1) }
