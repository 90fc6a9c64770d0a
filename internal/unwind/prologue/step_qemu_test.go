package prologue

import (
	"encoding/binary"
	"testing"

	"github.com/clewdbg/clew/internal/singlestep"
	"github.com/clewdbg/clew/internal/testneed"
)

var qemuBuilds = []string{
	"aarch64-linux-gnu-gcc -O0", "aarch64-linux-gnu-gcc -O1", "aarch64-linux-gnu-gcc -O2", "aarch64-linux-gnu-gcc -Os",
	"aarch64-linux-gnu-gcc -O2 -fomit-frame-pointer", "aarch64-linux-gnu-gcc -O2 -mbranch-protection=standard",
	"aarch64-linux-gnu-gcc -O2 -fstack-clash-protection", "aarch64-linux-gnu-gcc -O1 -fno-omit-frame-pointer",
	"clang --target=aarch64-linux-gnu -O0", "clang --target=aarch64-linux-gnu -O1", "clang --target=aarch64-linux-gnu -O2",
	"clang --target=aarch64-linux-gnu -Os -fomit-frame-pointer", "clang --target=aarch64-linux-gnu -O2 -mbranch-protection=standard",
}

// TestStepARM64: R6 and the rules of compact unwind for the innermost frame, under qemu's GDB stub.
func TestStepARM64(t *testing.T) {
	needTool(t, "aarch64-linux-gnu-gcc")
	needTool(t, "qemu-aarch64")
	a := &testArch{
		rule: ARM64, text: arm64Text, fp: X29, sp: SP,
		call: func(code []byte) (bool, int) {
			w := binary.LittleEndian.Uint32(code)
			return w>>26 == 0x25 || w&0xfffffc1f == 0xd63f0000, 4
		},
		ret: func(code []byte) bool {
			w := binary.LittleEndian.Uint32(code)
			return w == 0xd65f03c0 || w == 0xd65f0bff || w == 0xd65f0fff
		},
		entered: func(_ *stepper, r *registers) (uint64, uint64) { return r.r[SP], r.r[X30] },
	}
	for r := X19; r <= X28; r++ {
		a.saved = append(a.saved, r)
	}
	for r := D8; r <= D15; r++ {
		a.saved = append(a.saved, r)
	}
	stepAll(t, a, qemuBuilds, startQEMU)
}

// emulated is a program under qemu.
type emulated struct{ *singlestep.Stub }

func startQEMU(t *testing.T, exe string) machine {
	return emulated{singlestep.Emulate(t, singlestep.Emulator{Path: testneed.Tool(t, "qemu-aarch64"), Order: binary.LittleEndian,
		Registers: singlestep.RegistersARM64, Further: singlestep.FurtherARM64}, exe)}
}

func (s emulated) registers(out *registers) error {
	all, err := s.Registers()
	out.set(&all, 32)
	return err
}
