//go:build !linux || !amd64

package macho

import (
	"testing"

	"github.com/clewdbg/clew/internal/singlestep"
	"github.com/clewdbg/clew/internal/testneed"
)

func startTraced(t testing.TB, _ string, _ ...string) singlestep.Program {
	testneed.LeaveOut(t, "x86-64 code is stepped on linux/amd64 only")
	return nil
}
