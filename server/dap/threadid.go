package dap

import (
	"strconv"
	"sync/atomic"

	"github.com/clewdbg/clew/server/dapwire"
)

// FirstID is where clew's own IDs begin: of frames, of variables, and of threads
// without a goroutine (FirstID + thread ID). Delve's are below: it counts frames
// and variables from 1000, and its threads are goroutines.
const FirstID = 1 << 30

// threadAlias remembers for which thread Delve was told 0, which to it means the
// current thread, without a goroutine; and which thread of ours the last stop
// has named.
type threadAlias struct{ id, stopped atomic.Int64 }

// ownThread gives the thread that a DAP thread ID of clew's stands for.
func ownThread(id int64) (tid uint64, ok bool) {
	if id < FirstID || id >= 2*FirstID {
		return 0, false
	}
	return uint64(id - FirstID), true
}

func ownThreadID(tid uint64) int64 { return FirstID + int64(tid) }

// threadOf gives the thread that a request is about.
func threadOf(m *dapwire.Message) (id int64) {
	var args struct {
		ThreadID int64 `json:"threadId"`
	}
	_ = m.Decode("arguments", &args) // Delve refuses what is malformed
	return args.ThreadID
}

// setThread changes the thread that a request is about.
func setThread(m *dapwire.Message, id int64) {
	raw, _ := m.Get("arguments")
	if args, err := dapwire.ParseObject(raw); err == nil {
		args.Set("threadId", strconv.AppendInt(nil, id, 10))
		m.Set("arguments", args.Bytes())
	}
}

// mapThread names a thread without a goroutine as Delve does, for requests that
// do not care which thread it is.
func (a *threadAlias) mapThread(m *dapwire.Message) {
	if id := threadOf(m); id >= FirstID {
		a.id.Store(id)
		setThread(m, 0)
	}
}
