package macho

import (
	"testing"

	"github.com/clewdbg/clew/internal/singlestep"
	"github.com/clewdbg/clew/internal/testneed"
)

func startTraced(t testing.TB, exe string, args ...string) singlestep.Program {
	testneed.Ptrace(t)
	return singlestep.Start(t, exe, args...)
}
