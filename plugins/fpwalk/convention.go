package fpwalk

import (
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
)

// minCode is the lowest address that code can have: a return address below it
// ends the stack (R8).
const minCode = 4096

// recordSize is the size of a frame record: caller's frame pointer and return
// address.
const recordSize = 16

// The rules of a step along the chain, shared by all steps.
const (
	ruleAMD64 = "cfa=rbp+16; ra=[cfa-8]; fp=[cfa-16]"
	ruleARM64 = "cfa=x29+16; ra=[cfa-8]; fp=[cfa-16]"
)

// convention is what the walk needs to know of an architecture.
type convention struct {
	arch       unwind.Arch
	pc, sp, fp unwind.Register
	ra         unwind.Register // where a call leaves the return address, NoRegister: on the stack
	rule       string
	stackAlign uint64
	// recordAlign is what C's records are aligned to: 16 on arm64, where SP is.
	// Go's lie at SP-8 there (R12).
	recordAlign uint64
	// simulate finds the rule at an instruction, waiting that of a frame that waits in
	// a call; nil where that is not known.
	simulate, waiting func(code []byte, start, pc uint64) (prologue.Rule, prologue.Verdict)
	// entry is the rule at a function's first instruction.
	entry prologue.Rule
	// calleeSaved says which registers a called function keeps.
	calleeSaved func(unwind.Register) bool
	// plausible says whether an address can be one in user or kernel space.
	plausible func(addr uint64) bool
}

var amd64 = convention{
	arch: unwind.AMD64,
	pc:   unwind.AMD64RIP, sp: unwind.AMD64RSP, fp: unwind.AMD64RBP, ra: unwind.NoRegister,
	rule: ruleAMD64, stackAlign: unwind.AMD64.StackAlignment(), recordAlign: 8,
	simulate: prologue.AMD64, waiting: prologue.AMD64Waiting,
	entry: prologue.Rule{
		CFA:     prologue.Expr{Base: prologue.RSP, Off: 8},
		RA:      prologue.Loc{Kind: prologue.AtCFA, Off: -8},
		FP:      prologue.Loc{Kind: prologue.Same},
		Certain: prologue.Exact,
	},
	calleeSaved: func(r unwind.Register) bool {
		return r == unwind.AMD64RBX || r == unwind.AMD64RBP || r >= unwind.AMD64R12 && r < unwind.AMD64RIP
	},
	plausible: canonical,
}

var arm64 = convention{
	arch: unwind.ARM64,
	pc:   unwind.ARM64PC, sp: unwind.ARM64SP, fp: unwind.ARM64FP, ra: unwind.ARM64LR,
	rule: ruleARM64, stackAlign: unwind.ARM64.StackAlignment(), recordAlign: 16,
	simulate: prologue.ARM64, waiting: prologue.ARM64Waiting,
	entry: prologue.Rule{
		CFA:     prologue.Expr{Base: prologue.SP},
		RA:      prologue.Loc{Kind: prologue.Same},
		FP:      prologue.Loc{Kind: prologue.Same},
		Certain: prologue.Exact,
	},
	calleeSaved: func(r unwind.Register) bool {
		return r >= 19 && r <= unwind.ARM64FP || r >= unwind.ARM64D8 && r < unwind.ARM64D8+8
	},
	plausible: func(addr uint64) bool { return addr <= 0x000f_ffff_ffff_ffff }, // R6
}

// canonical says whether the upper bits of an amd64 address are all alike (R4).
func canonical(addr uint64) bool {
	return addr <= 0x7fff_ffff_ffff || addr >= 0xffff_8000_0000_0000
}

func conventionOf(arch unwind.Arch) *convention {
	switch arch {
	case unwind.AMD64:
		return &amd64
	case unwind.ARM64:
		return &arm64
	}
	return nil
}
