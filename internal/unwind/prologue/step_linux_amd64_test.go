package prologue

import (
	"testing"

	"github.com/clewdbg/clew/internal/singlestep"
	"github.com/clewdbg/clew/internal/unwind/tablewalk/steptest"
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
		Machine: steptest.AMD64(), rule: AMD64, text: amd64Text, fp: RBP, saved: []Reg{RBX, R12, 13, 14, R15},
	}, stepBuilds, func(t *testing.T, exe string) singlestep.Program { return singlestep.Start(t, exe) })
}
