package dap

import (
	"strconv"
	"sync/atomic"

	"github.com/clewdbg/clew/server/dapwire"
	"github.com/clewdbg/clew/server/delve"
)

// FirstID is where clew's own IDs begin: of frames, of variables, and of threads
// without a goroutine (FirstID + thread ID). Delve's are below: it counts frames
// and variables from 1000, and its threads are goroutines.
const FirstID = 1 << 30

// threadAlias remembers for which thread Delve was told 0, which to it means the
// current thread, without a goroutine; and which thread of ours the last stop
// has named.
type threadAlias struct{ id, stopped atomic.Int64 }

// ownThread returns the thread that a DAP thread ID of clew's stands for.
func ownThread(id int64) (tid uint64, ok bool) {
	if id < FirstID || id >= 2*FirstID {
		return 0, false
	}
	return uint64(id - FirstID), true
}

func ownThreadID(tid uint64) int64 { return FirstID + int64(tid) }

// threadOf returns the thread that a request is about.
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

// resolve returns the thread of control that a DAP thread ID stands for, and the
// ID by which Delve knows it: -1 is the selected goroutine, and so is 0 where the
// current thread has none. Delve knows a thread without a goroutine only while it
// is the current one; known is false for others.
func (v *view) resolve(id int64) (th delve.Thread, delveID int64, known bool, err error) {
	if r, ok := v.known[id]; ok && id > 0 {
		return r.thread, r.delveID, r.known, nil
	}
	th, delveID, known, err = v.find(id)
	if err == nil {
		v.known[id] = resolved{th, delveID, known}
	}
	return th, delveID, known, err
}

// resolved is a thread that was found. What is selected may change at a stop, so
// that -1 and 0 are found anew each time.
type resolved struct {
	thread  delve.Thread
	delveID int64
	known   bool
}

func (v *view) find(id int64) (th delve.Thread, delveID int64, known bool, err error) {
	if tid, ok := ownThread(id); ok {
		return v.findThread(tid)
	}
	if id <= 0 {
		th, err = v.Selected()
		return th, id, true, err
	}
	th, err = v.Goroutine(uint64(id))
	if !v.target.InLibrary() {
		return th, id, true, err
	}
	// Of goroutines in a library Delve knows at most the selected one.
	selected, failed := v.target.Selected()
	if failed != nil || selected.Goroutine != uint64(id) {
		return th, 0, false, err
	}
	if err != nil {
		th, err = v.Selected()
	}
	return th, id, true, err
}

// findThread finds a thread by its ID. Delve knows it by its goroutine, else while
// it is selected.
func (v *view) findThread(tid uint64) (th delve.Thread, delveID int64, known bool, err error) {
	th, err = v.Thread(tid)
	if err != nil || th.Goroutine != 0 {
		return th, int64(th.Goroutine), true, err
	}
	selected, err := v.target.Selected()
	return th, 0, err == nil && selected.Goroutine == 0 && selected.Thread == tid, err
}
