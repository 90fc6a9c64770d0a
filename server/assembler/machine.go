package assembler

import (
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// machine holds the properties of an architecture for the assembler's rules.
// amd64.go and arm64.go each hold one, in the same order.
type machine struct {
	// notCode describes an address that is not canonical.
	notCode string
	// signal is the rule of a signal's trampoline on Linux.
	signal rule.Rule
	// tables returns the rule of a Go frame by the distance of SP from its value at
	// entry, record that by its frame pointer alone; nil without rules for Go frames.
	// Go's ABI has no callee-saved registers but the frame pointer: all others are
	// lost.
	tables, record func(*goFrame) (rule.Rule, error)
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
	return &noMachine
}

var noMachine = machine{notCode: "has more than 32 bits"}

// signalRule is the rule of a signal's trampoline where the kernel has saved
// registers, one word each, from an offset from SP on. The CFA is the SP that is
// restored.
func signalRule(arch unwind.Arch, offset int64, saved []unwind.Register) rule.Rule {
	r := rule.Rule{Arch: arch, Signal: true}
	for i, reg := range saved {
		at := rule.At(arch.SP(), offset+8*int64(i))
		switch reg {
		case arch.SP():
			r.CFA = at
		case arch.PC():
			r.RA = at
		case arch.FP():
			r.FP = at
		default:
			r.Saved = append(r.Saved, rule.Saved{Register: reg, Value: at})
		}
	}
	return r
}
