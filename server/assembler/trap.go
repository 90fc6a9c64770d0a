package assembler

import (
	"encoding/binary"
	"fmt"

	"github.com/clewdbg/clew/unwind"
)

// traps are the numbers that compilers give arm64's breakpoint instruction, with what
// writes it. All others are a program's own.
var traps = map[uint16]string{
	0:      "runtime.Breakpoint", // Go's
	1:      "abort",              // clang's __builtin_trap, Rust's abort
	1000:   "__builtin_trap",     // gcc's
	0xf000: "__builtin_debugtrap",
	0xc470: "failed authentication (IA)", 0xc471: "failed authentication (IB)",
	0xc472: "failed authentication (DA)", 0xc473: "failed authentication (DB)",
}

// trapAt describes the breakpoint instruction at which an innermost frame on arm64
// stands: the processor stops there, not behind it. It returns "" for any other instruction.
func (t *Target) trapAt(pc uint64) string {
	if t.Arch != unwind.ARM64 {
		return ""
	}
	code := t.original(pc, 4)
	if len(code) < 4 {
		return ""
	}
	const brk, number = 0xd4200000, 0xffff << 5
	word := binary.LittleEndian.Uint32(code) // whatever the byte order of data
	if word&^number != brk {
		return ""
	}
	n := uint16(word >> 5)
	if name, ok := traps[n]; ok {
		return fmt.Sprintf("trap: brk #%d, %s", n, name)
	}
	return fmt.Sprintf("trap: brk #%d", n)
}
