package debuggee

import (
	"runtime"
	"runtime/debug"
	"time"
)

// settleAfter is how long after the first stop memory is returned: the client has asked for what it shows by then.
const settleAfter = 300 * time.Millisecond

// Settle returns memory to the system, once, when the program stands: what Delve has allocated to read the
// program is garbage of many megabytes, and Go's runtime keeps it for as long as no more of it is needed.
func (l *Program) Settle() {
	l.settle.Do(func() {
		time.AfterFunc(settleAfter, func() {
			runtime.GC() // what gRPC has in its pools (sync.Pool) outlives one collection
			debug.FreeOSMemory()
		})
	})
}
