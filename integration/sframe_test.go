package integration

import (
	"os"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/unwind"
)

// sframeToolchains names the folder of fetch-toolchains.sh. With it all versions
// are built in every way; without it the machine's own assembler writes its version,
// and every version comes in a prebuilt library.
const sframeToolchains = "CLEW_SFRAME_TOOLCHAINS"

// TestSFrame: native code with SFrame and nothing else has the stack that it
// recorded, on into Go and back, in every scenario; and sframe found it.
func TestSFrame(t *testing.T) {
	for _, v := range program.SFrameVariants(program.Tools{SFrame: os.Getenv(sframeToolchains)}) {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			p := build(t, v)
			for _, s := range program.Scenarios {
				t.Run(s.Name+"-"+s.Stop, func(t *testing.T) {
					stop := launch(t, p, s.Name, s.Stop, "--format", "json")
					stop.check(t, v, s.Groups)
					if n := leftBy(&stop.stacks(t)[0], unwind.StrategySFrame); n < 2 {
						t.Errorf("%d frames were left by sframe", n)
					}
				})
			}
		})
	}
}

// leftBy counts the frames whose caller a strategy found.
func leftBy(s *stackjson.Stack, strategy string) (n int) {
	for i := range s.Frames {
		if s.Frames[i].Strategy == strategy {
			n++
		}
	}
	return n
}

// TestSFrameNeeded: without the strategy it is the code itself that shows where the callers
// are, so that the tables are what the test above is about.
func TestSFrameNeeded(t *testing.T) {
	v := program.SFrameVariants(program.Tools{})[1]
	stop := launch(t, build(t, v), "plain", "int3", "--format", "json", "--strategies", strings.Join([]string{unwind.StrategyDWARF, unwind.StrategyFP}, ","))
	v.Undescribed = true
	stop.check(t, v, program.Scenarios[0].Groups)
	stop.want(t, done)
	if stack := &stop.stacks(t)[0]; leftBy(stack, unwind.StrategySFrame) > 0 || leftBy(stack, unwind.StrategyCode) == 0 {
		t.Error(show(stack))
	}
}
