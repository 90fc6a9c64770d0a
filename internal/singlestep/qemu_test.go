//go:build linux && amd64

package singlestep_test

import (
	"encoding/binary"
	"testing"

	"github.com/clewdbg/clew/internal/singlestep"
	"github.com/clewdbg/clew/internal/testneed"
)

const arm64Program = `.globl _start
_start:
	mov x19, #0x1234
	mov x0, #0x77
	str x0, [sp, #-16]!
	.globl leave
leave:
	mov x0, #7
	mov x8, #93
	svc #0
`

func TestEmulate(t *testing.T) {
	qemu := testneed.Tool(t, "qemu-aarch64")
	path, symbols := assemble(t, testneed.Tool(t, "aarch64-linux-gnu-gcc"), arm64Program)
	p := singlestep.Emulate(t, singlestep.Emulator{Path: qemu, Order: binary.LittleEndian,
		Registers: singlestep.RegistersARM64, Further: singlestep.FurtherARM64}, path)
	check(t, p, symbols, dwarf{value: 19, argument: 0, sp: 31, pc: 32})
	if _, err := p.Bytes("m0,8"); err == nil {
		t.Error("memory at 0 was read")
	}
}
