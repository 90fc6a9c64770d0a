package table

// Encoding is how to unwind from a run of code, in 32 bits: 8 that all
// architectures share and 24 that depend on the mode.
type Encoding uint32

// The parts that all architectures share. Above them are bits that unwinding has no use for:
// the run starts within a function, there is a language-specific data area, and the number
// of the personality routine.
const (
	modeMask Encoding = 15 << 24
	ownMask  Encoding = 1<<24 - 1
)

// Null reports whether there is no unwind information: code by hand, or code
// that needs none. Marks that all architectures share do not change that.
func (e Encoding) Null() bool { return e&(modeMask|ownMask) == 0 }

// mode is the encoding's kind, which each architecture numbers by itself.
func (e Encoding) mode() uint32 { return uint32(e & modeMask >> 24) }

// bits returns n bits from bit low on.
func (e Encoding) bits(low, n uint) uint32 { return uint32(e) >> low & (1<<n - 1) }
