package unwind

// InstructionAddr is the address of an instruction that is about to be
// executed: the PC of the innermost frame, or of a frame that a signal
// interrupted.
type InstructionAddr uint64

// ReturnAddr is the address at which execution continues when a callee returns.
// The call lies before it, possibly in another function (R9: a call of a
// function that never returns may be the last instruction of its function).
type ReturnAddr uint64

// LookupAddr is an address within a frame's current instruction. It is for
// lookups in tables and symbols, and is never stored or exported.
type LookupAddr uint64

// Lookup is the address as it is, aligned down to the instruction size.
func (a InstructionAddr) Lookup(arch Arch) LookupAddr {
	return LookupAddr(alignedAddress(arch, uint64(a)))
}

// Lookup is an address within the call before the return address (R9).
func (a ReturnAddr) Lookup(arch Arch) LookupAddr {
	return LookupAddr(previousAddress(arch, uint64(a)))
}

// PCKind is the kind of address that a PC is.
type PCKind uint8

// The kinds of PC.
const (
	KindInstruction PCKind = iota // innermost, or interrupted by a signal
	KindReturn                    // found by unwinding
)

var pcKindNames = [...]string{"instruction", "return"}

// String returns the kind's name in snapshots.
func (k PCKind) String() string { return nameOf(pcKindNames[:], k, "kind") }

// ParsePCKind parses the output of [PCKind.String].
func ParsePCKind(s string) (PCKind, error) { return parseName[PCKind](pcKindNames[:], s, "kind of PC") }

// CodeAddr is an instruction address or a return address, with its kind.
type CodeAddr struct {
	addr uint64
	kind PCKind
}

// Code is a code address of the given kind.
func Code(addr uint64, kind PCKind) CodeAddr { return CodeAddr{addr, kind} }

// Raw is the address as it was found, unadjusted: the one to keep and export.
func (c CodeAddr) Raw() uint64 { return c.addr }

// Kind returns the kind of the address.
func (c CodeAddr) Kind() PCKind { return c.kind }

// Lookup is the address for lookups in tables and symbols (R9).
func (c CodeAddr) Lookup(arch Arch) LookupAddr {
	if c.kind == KindReturn {
		return ReturnAddr(c.addr).Lookup(arch)
	}
	return InstructionAddr(c.addr).Lookup(arch)
}
