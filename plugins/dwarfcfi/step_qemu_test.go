package dwarfcfi

import (
	"encoding/binary"
	"testing"

	"github.com/clewdbg/clew/internal/singlestep"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/cfi/cfitest"
	"github.com/clewdbg/clew/internal/unwind/tablewalk/steptest"
	"github.com/clewdbg/clew/unwind"
)

var qemuBuilds = []string{
	"aarch64-linux-gnu-gcc -O0", "aarch64-linux-gnu-gcc -O2 -mbranch-protection=standard",
	"clang --target=aarch64-linux-gnu -Os -mbranch-protection=standard",
}

// pacMask is Linux's mask for user space with 48 bits of addresses (NT_ARM_PAC_MASK).
const pacMask = 0x007f_0000_0000_0000

// TestStepARM64 steps through arm64 programs from main on under qemu's GDB stub,
// which takes long for each instruction. Return addresses are signed in some
// (R11).
func TestStepARM64(t *testing.T) {
	testneed.Tool(t, "aarch64-linux-gnu-gcc")
	qemu := testneed.Tool(t, "qemu-aarch64")
	stepAll(t, steptest.ARM64(binary.LittleEndian), 2_000, qemuBuilds, func(t *testing.T, tr *steptest.Tracer, exe string) {
		file, err := cfitest.Load(exe, 0)
		if err != nil {
			t.Fatal(err)
		}
		tr.Program = singlestep.Emulate(t, singlestep.Emulator{Path: qemu, Order: binary.LittleEndian, Registers: singlestep.RegistersARM64}, exe)
		for _, f := range file.Funcs {
			if f.Name == "main" {
				if err := tr.Program.RunTo(f.Start); err != nil {
					t.Fatal(err)
				}
			}
		}
		tr.Function = functions(file, tr.Program)
		// The program is static: all code is known from the start.
		tr.Images = func() (unwind.ImageDelta, []unwind.Range, error) {
			return unwind.ImageDelta{Arch: unwind.ARM64, OS: "linux", PACMask: pacMask, Added: []unwind.Image{file.Image(1)}},
				[]unwind.Range{{Start: 0, End: ^uint64(0)}}, nil
		}
	}, "-static", "-DNOSIGNAL")
}

// functions returns the functions of a program by its symbols, as the host does.
func functions(file *cfitest.File, p singlestep.Program) func(pc uint64) *unwind.FunctionCode {
	known := map[uint64]*unwind.FunctionCode{}
	return func(pc uint64) *unwind.FunctionCode {
		for _, f := range file.Funcs {
			if pc < f.Start || pc >= f.End {
				continue
			}
			if known[f.Start] == nil {
				code := make([]byte, f.End-f.Start)
				known[f.Start] = &unwind.FunctionCode{Start: f.Start, Exact: true, Code: code[:p.Read(f.Start, code)]}
			}
			return known[f.Start]
		}
		return nil
	}
}
