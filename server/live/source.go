package live

import (
	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/unwind/gocode"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/internal/goruntime"
	"github.com/clewdbg/clew/unwind"
)

// Notes is goruntime's, by a name that callers outside server/ can write.
type Notes = goruntime.Notes

// Source is a stopped program as Delve has it: a [delve.Session] here, or one behind
// a Delve server.
type Source interface {
	Arch() unwind.Arch
	OS() string // GOOS
	Pid() int
	// Memory is as the program itself sees it, without Delve's breakpoints.
	Memory() unwind.Memory
	// KnowCode tells where the code of Go's runtime is found.
	KnowCode(gocode.Code)
	Threads(maps []imagemap.Mapping) ([]reading.Thread, error)
	CurrentThread(maps []imagemap.Mapping) (reading.Thread, error)
	Goroutines(threads []reading.Thread) ([]reading.Thread, error)
	// Notes reads what goroutines' states refer to; nil where that is not known.
	Notes() *Notes
	// Claims returns Delve's frames, at most depth of them.
	Claims(th reading.Thread, depth int) ([]unwind.Frame, error)
}
