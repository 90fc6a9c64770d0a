package dwarfcfi

import (
	"testing"

	"github.com/clewdbg/clew/internal/singlestep"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/cfi/cfitest"
	"github.com/clewdbg/clew/internal/unwind/tablewalk/steptest"
	"github.com/clewdbg/clew/unwind"
)

// Most builds are static: stepping through the loader takes long and is the
// same each time.
var stepBuilds = []string{
	"gcc -O0 -static", "gcc -O1", "gcc -O2 -fcf-protection=full -Wl,-z,now", "gcc -O3 -static", "gcc -Os -static",
	"gcc -O2 -fno-omit-frame-pointer -static", "gcc -O0 -mstackrealign -static", "gcc -O2 -mstackrealign -static",
	"gcc -O2 -fstack-clash-protection -static", "gcc -O1 -maccumulate-outgoing-args -static",
	"gcc -O2 -fno-asynchronous-unwind-tables -g -Wl,--no-eh-frame-hdr", "clang -O0 -static", "clang -O2", "clang -Os -fno-omit-frame-pointer -static",
}

func TestStep(t *testing.T) {
	testneed.CC(t)
	testneed.Ptrace(t)
	stepAll(t, steptest.AMD64(), 10_000, stepBuilds, func(t *testing.T, tr *steptest.Tracer, exe string) {
		p := singlestep.Start(t, exe)
		tr.Program = p
		tr.Images = steptest.Live(t, p, func(path string, bias uint64) (unwind.Image, error) {
			file, err := cfitest.Load(path, bias)
			if err != nil {
				return unwind.Image{}, err
			}
			return file.Image(0), nil
		})
	})
}
