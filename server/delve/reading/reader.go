package reading

import (
	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/unwind/gocode"
	"github.com/clewdbg/clew/server/delve/held"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/internal/goruntime"
)

// Reader reads a program at its stops: threads, goroutines, frames, variables. It is not safe for concurrent use.
type Reader struct {
	program *held.Program
	stackCache
	known
	code    gocode.Code // of the runtime; nil until it is known
	maps    []imagemap.Mapping
	symbols *codemap.Map // of all images; nil until they are known
}

// known are facts about one process.
type known struct {
	layout    *goruntime.Layout // of the runtime's structures; nil where it is not known
	noLayout  int               // the number of images that were searched for it in vain
	variables map[string]uint64 // the runtime's, where they were found without DWARF
	addressOf map[string]uint64 // variables, by DWARF, once they were asked for
	slots     slots             // where libraries keep their threads' g
	globals   []string          // names of global variables; nil until they were asked for
}

// newReader returns one that knows nothing of the program yet.
func New(p *held.Program) *Reader { return &Reader{program: p, stackCache: stackCache{of: p}} }

// ForgetProcess forgets all facts about one process: Delve has started the program anew, or has followed it into another.
func (r *Reader) ForgetProcess() { r.known = known{} }

// KnownMap is what the program has loaded, as far as [Reader.KnowMap] was told.
func (r *Reader) KnownMap() *codemap.Map { return r.symbols }

// GoroutineOf is the goroutine that a thread runs, and the end of its stack. The target's lock is held.
func (r *Reader) GoroutineOf(t *proc.Target, th proc.Thread, tls uint64) (id, high uint64, err error) {
	return r.runtime(t).Goroutine(r.currentG(t, th, tls, r.machines(t)))
}
