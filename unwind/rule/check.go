package rule

import (
	"fmt"

	"github.com/clewdbg/clew/unwind"
)

// CheckEnd reports whether a caller's return address ends the stack: an [*EndError]
// (R8).
func (c *Caller) CheckEnd(arch unwind.Arch) error {
	if ra, _ := c.Registers.PC(arch); ra < unwind.LowestCode {
		return &EndError{CFA: c.CFA, PC: ra}
	}
	return nil
}

// CheckCode reports whether code can lie at a caller's return address (R4, R6).
func (c *Caller) CheckCode(arch unwind.Arch) error {
	if ra, _ := c.Registers.PC(arch); !arch.Canonical(ra) {
		return c.impossible(ra, "return address %#x is no address", ra)
	}
	return nil
}

// CheckStack reports whether a caller can lie where a rule puts it: above the frame,
// aligned, and on the frame's stack (R3). Only a frame that has called no one may
// have its caller's stack pointer: a leaf that keeps the return address in a
// register (R10). It does not hold for frames that a signal interrupted.
func (f *Frame) CheckStack(arch unwind.Arch, c *Caller) error {
	pc, _ := f.Registers.PC(arch)
	ra, _ := c.Registers.PC(arch)
	sp, spKnown := f.Registers.SP(arch)
	callerSP, callerKnown := c.Registers.SP(arch)
	leaf := f.Kind == unwind.KindInstruction && arch.LR() != unwind.NoRegister && ra != pc
	switch {
	case !callerKnown:
		return &MissingRegister{Register: arch.SP(), Name: arch.RegisterName(arch.SP()), For: "the caller"}
	case callerSP%arch.StackAlignment() != 0:
		return c.impossible(ra, "the caller's stack pointer %#x is no multiple of %d", callerSP, arch.StackAlignment())
	case f.Segment.High != 0 && (!f.Segment.Contains(c.CFA) || !f.Segment.Contains(callerSP)):
		return c.impossible(ra, "CFA %#x lies outside the stack segment", c.CFA)
	case spKnown && (callerSP < sp || callerSP == sp && !leaf):
		return c.impossible(ra, "the caller's stack pointer %#x is not above the stack pointer %#x", callerSP, sp)
	}
	return nil
}

func (c *Caller) impossible(ra uint64, format string, args ...any) error {
	return &ImpossibleError{CFA: c.CFA, PC: ra, Reason: fmt.Sprintf(format, args...)}
}
