package prologue

import (
	"testing"

	"github.com/clewdbg/clew/internal/singlestep"
	"golang.org/x/arch/x86/x86asm"
)

var stepBuilds = []string{
	"gcc -O0", "gcc -O1", "gcc -O2", "gcc -O3", "gcc -Os",
	"gcc -O0 -fomit-frame-pointer", "gcc -O1 -fno-omit-frame-pointer", "gcc -O2 -fno-omit-frame-pointer", "gcc -Os -fno-omit-frame-pointer",
	"gcc -O2 -fstack-clash-protection", "gcc -O2 -fcf-protection=full -fPIE", "gcc -O2 -march=x86-64-v3", "gcc -O2 -mstackrealign",
	"gcc -O1 -maccumulate-outgoing-args", "gcc -O3 -march=x86-64-v3 -fno-omit-frame-pointer", "gcc -O2 -fno-shrink-wrap -fno-jump-tables",
	"clang -O0", "clang -O1", "clang -O2", "clang -Os", "clang -O2 -fno-omit-frame-pointer", "clang -O3 -march=x86-64-v3", "clang -O2 -fstack-clash-protection",
}

// TestStep: R4, natively under ptrace.
func TestStep(t *testing.T) {
	needTool(t, "gcc")
	stepAll(t, &testArch{
		rule: AMD64, text: amd64Text, fp: RBP, sp: RSP, saved: []Reg{RBX, R12, 13, 14, R15},
		call: func(code []byte) (bool, int) {
			in, err := x86asm.Decode(code, 64)
			return err == nil && in.Op == x86asm.CALL, in.Len
		},
		ret: func(code []byte) bool {
			in, err := x86asm.Decode(code, 64)
			return err == nil && in.Op == x86asm.RET
		},
		entered: func(s *stepper, r *registers) (uint64, uint64) { return r.r[RSP] + 8, s.word(r.r[RSP]) },
	}, stepBuilds, startPtrace)
}

// ptraced is a process under ptrace.
type ptraced struct{ *singlestep.Process }

func startPtrace(t *testing.T, exe string) machine { return ptraced{singlestep.Start(t, exe)} }

func (p ptraced) registers(out *registers) error {
	all, err := p.Registers()
	out.set(&all, 16)
	return err
}
