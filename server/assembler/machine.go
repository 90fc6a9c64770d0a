package assembler

import "github.com/clewdbg/clew/unwind"

// machine holds the properties of an architecture for the assembler's rules.
// amd64.go and arm64.go each hold one, in the same order.
type machine struct {
	// notCode describes an address that is not canonical.
	notCode string
	// saved is where the kernel saves registers for a signal's handler on Linux, from
	// SP on when the handler has returned, and savedOrder which, one word each.
	saved      uint64
	savedOrder []unwind.Register
	// stepGo leaves a Go frame by the distance of SP from its value at entry, stepFP
	// one by its frame pointer alone; nil without rules for Go frames.
	stepGo func(t *Target, regs *unwind.Registers, fn Function, sp uint64, kind unwind.PCKind) (unwind.Step, error)
	stepFP func(t *Target, fn Function, fp uint64) (unwind.Step, error)
	// setFP are the instructions, or their beginnings, that set the frame pointer in a
	// Go function's prologue.
	setFP [][]byte
}

// machineOf returns an architecture's machine, an empty one without rules.
func machineOf(arch unwind.Arch) *machine {
	switch arch {
	case unwind.AMD64:
		return &amd64
	case unwind.ARM64:
		return &arm64
	}
	return &machine{notCode: "has more than 32 bits"}
}
