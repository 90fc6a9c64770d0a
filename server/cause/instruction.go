package cause

import (
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/unwind"
)

// accessByCode says what the innermost frame's instruction has tried at an address, where no handler was called that the kernel
// would have told.
func accessByCode(t *assembler.Target, frames []unwind.Frame, address uint64) string {
	pc := frames[0].PC.Raw()
	if pc == address {
		return aJump
	}
	if t.Arch != unwind.AMD64 || t.Code == nil {
		return anAccess
	}
	inst, err := x86asm.Decode(t.Code.Bytes(pc, 15), 64)
	if err != nil {
		return anAccess
	}
	name := inst.Op.String()
	if inst.Op == x86asm.CALL || inst.Op == x86asm.PUSH {
		if sp, ok := frames[0].Registers.SP(t.Arch); ok && sp-8 == address {
			return aWrite // the stack is at its end
		}
		return aRead
	}
	if _, stores := inst.Args[0].(x86asm.Mem); stores {
		switch {
		case strings.HasPrefix(name, "MOV") || strings.HasPrefix(name, "SET"):
			return aWrite
		case strings.HasPrefix(name, "CMP") || inst.Op == x86asm.TEST || inst.Op == x86asm.JMP:
			return aRead
		}
		return anAccess // it reads and writes
	}
	for _, arg := range inst.Args[1:] {
		if _, loads := arg.(x86asm.Mem); loads && inst.Op != x86asm.LEA {
			return aRead
		}
	}
	return anAccess
}
