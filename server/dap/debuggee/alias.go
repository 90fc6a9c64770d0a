package debuggee

import (
	"sync/atomic"

	"github.com/google/go-dap"

	"github.com/clewdbg/clew/server/dap/wire"
	"github.com/clewdbg/clew/server/dapwire"
)

// ThreadAlias remembers for which thread Delve was told 0, which to it means the
// current thread, without a goroutine; and which thread of ours the last stop
// has named.
type ThreadAlias struct{ ID, Stopped atomic.Int64 }

// RequestedThread returns the thread that a request is about.
func RequestedThread(m *dapwire.Message) (id int64) {
	var args dap.ContinueArguments
	_ = m.Decode("arguments", &args) // Delve refuses what is malformed
	return int64(args.ThreadId)
}

// MapThread names a thread without a goroutine as Delve does, for requests that
// do not care which thread it is.
func (a *ThreadAlias) MapThread(m *dapwire.Message) {
	if id := RequestedThread(m); id >= FirstID {
		a.ID.Store(id)
		wire.SetArgument(m, "threadId", int64(0))
	}
}
