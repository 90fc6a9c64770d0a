package prologue

import (
	"encoding/binary"
	"testing"

	"github.com/clewdbg/clew/internal/singlestep"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/tablewalk/steptest"
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
	a := &testArch{Machine: steptest.ARM64(binary.LittleEndian), rule: ARM64, text: arm64Text, fp: X29}
	for r := X19; r <= X28; r++ {
		a.saved = append(a.saved, r)
	}
	for r := D8; r <= D15; r++ {
		a.saved = append(a.saved, r)
	}
	stepAll(t, a, qemuBuilds, func(t *testing.T, exe string) singlestep.Program {
		return singlestep.Emulate(t, singlestep.Emulator{Path: testneed.Tool(t, "qemu-aarch64"), Order: binary.LittleEndian,
			Registers: singlestep.RegistersARM64, Further: singlestep.FurtherARM64}, exe)
	})
}
