package sframe

import (
	"testing"

	"github.com/clewdbg/clew/internal/singlestep"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/tablewalk/steptest"
	"github.com/clewdbg/clew/unwind"
)

// pacMask is Linux's mask for user space with 48 bits of addresses (NT_ARM_PAC_MASK).
const pacMask = 0x007f_0000_0000_0000

// startEmulated starts a static program under qemu.
func startEmulated(t *testing.T, tr *steptest.Tracer, p *stepProgram, qemu string) {
	t.Helper()
	emulator := singlestep.Emulator{Path: testneed.Tool(t, qemu), Order: tr.Machine.Order, Registers: singlestep.RegistersARM64}
	if tr.Machine.Arch == unwind.S390X { // functions that call none save registers in floating-point ones
		emulator.Registers, emulator.Further = singlestep.RegistersS390X, singlestep.FurtherS390X
	}
	tr.Program = singlestep.Emulate(t, emulator, p.exe)
	tr.Images = func() (delta unwind.ImageDelta, maps []unwind.Range, err error) {
		image, err := p.load(p.exe, 0)
		delta = unwind.ImageDelta{Arch: tr.Machine.Arch, OS: "linux", Added: []unwind.Image{image}}
		if tr.Machine.Arch == unwind.ARM64 {
			delta.PACMask = pacMask
		}
		return delta, []unwind.Range{{Start: 0, End: ^uint64(0)}}, err
	}
}
