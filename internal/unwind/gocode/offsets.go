package gocode

import (
	"golang.org/x/arch/x86/x86asm"

	"github.com/clewdbg/clew/unwind"
)

// Offsets are the distances from a pointer, other than that of a stack, at which the
// functions of a name access memory or compute addresses. known is false where no such
// function is known, or no code of the architecture is read.
func Offsets(arch unwind.Arch, code Code, name string) (out map[int64]bool, known bool) {
	if arch != unwind.AMD64 || code == nil {
		return nil, false
	}
	out = make(map[int64]bool)
	for _, body := range code(name) {
		for len(body) > 0 {
			inst, err := x86asm.Decode(body, 64)
			if err != nil {
				break
			}
			body = body[inst.Len:]
			addOffsets(out, &inst)
		}
		known = true
	}
	return out, known
}

func addOffsets(to map[int64]bool, inst *x86asm.Inst) {
	for _, arg := range inst.Args {
		switch a := arg.(type) {
		case x86asm.Mem:
			if a.Base != 0 && a.Base != x86asm.RIP && a.Base != x86asm.RSP && a.Base != x86asm.RBP {
				to[a.Disp] = true
			}
		case x86asm.Imm:
			if inst.Op == x86asm.ADD { // code that is not optimised adds first
				to[int64(a)] = true
			}
		}
	}
}
