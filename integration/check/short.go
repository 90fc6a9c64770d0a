package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// short are the packages that -short tests: formats, strategies, the rules, and the
// command line. They ask for little, and for no program but Go.
var short = []string{"./cbf/...", "./imagemap/...", "./unwind/...", "./plugins/...", "./internal/...", "./cmd/...",
	"./server/assembler", "./server/export", "./server/stepping", "./server/dap", "./integration/check"}

// singleSteps are tests in them that step programs instruction by instruction, here and in
// an emulator: half of the time that all of short takes.
const singleSteps = "-skip=^TestStep(ARM64)?$"

// The one test of live programs that -short runs.
const livePackage, liveTest = "./integration", "-run=^TestDemo$"

// testShort tests what a first try can wait for.
func testShort(r *report) error {
	return errors.Join(test(r, short, "-short", singleSteps), test(r, []string{livePackage}, liveTest))
}

// Minutes that the whole run and the short one take on the reference machine.
const wholeMinutes, shortMinutes = 14, 2

// announce says how much there is to do, and how long that may take here.
func announce(r *report, packages []string, minutes float64) error {
	out, err := exec.Command("go", append([]string{"list"}, packages...)...).Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	r.packages, r.start = len(strings.Fields(string(out))), time.Now()
	slow := testneed.Slowness()
	fmt.Fprintf(r.out, "check: %d packages, about %.0f min (this machine takes %.1f times as long as the reference; the first time, builds come on top)\n",
		r.packages, minutes*slow, slow)
	return nil
}

// progress says how far the run is.
func (r *report) progress() {
	r.ended++
	if r.packages > 0 && r.ended <= r.packages && r.ended%10 == 0 {
		fmt.Fprintf(r.out, "check: %d of %d packages, %.1f min\n", r.ended, r.packages, time.Since(r.start).Minutes())
	}
}
