package debuggee

import (
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/server/stop"
)

// View is the program at one stop, as the client is shown it.
type View struct {
	*stop.Stopped
	Target   Target
	Prepared *engine.Prepared   // with the configured strategies; nil until they are needed
	known    map[int64]resolved // threads, by DAP thread ID
}

// Resolve returns the thread of control that a DAP thread ID stands for, and the
// ID by which Delve knows it: -1 is the selected goroutine, and so is 0 where the
// current thread has none. Delve knows a thread without a goroutine only while it
// is the current one; known is false for others.
func (v *View) Resolve(id int64) (th reading.Thread, delveID int64, known bool, err error) {
	if r, ok := v.known[id]; ok && id > 0 {
		return r.thread, r.delveID, r.known, nil
	}
	th, delveID, known, err = v.find(id)
	if err == nil {
		v.known[id] = resolved{th, delveID, known}
	}
	return th, delveID, known, err
}

// Resolved returns a thread that was resolved at this stop already.
func (v *View) Resolved(id int64) (th reading.Thread, ok bool) {
	r, ok := v.known[id]
	return r.thread, ok && id > 0
}

// resolved is a thread that was found. What is selected may change at a stop, so
// that -1 and 0 are found anew each time.
type resolved struct {
	thread  reading.Thread
	delveID int64
	known   bool
}

func (v *View) find(id int64) (th reading.Thread, delveID int64, known bool, err error) {
	if tid, ok := ThreadOf(id); ok {
		return v.findThread(tid)
	}
	if id <= 0 {
		th, err = v.Selected()
		return th, id, true, err
	}
	th, err = v.Goroutine(uint64(id))
	if !v.Target.InLibrary() {
		return th, id, true, err
	}
	// Of goroutines in a library Delve knows at most the selected one.
	selected, failed := v.Target.Selected()
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
func (v *View) findThread(tid uint64) (th reading.Thread, delveID int64, known bool, err error) {
	th, err = v.Thread(tid)
	if err != nil || th.Goroutine != 0 {
		return th, int64(th.Goroutine), true, err
	}
	selected, err := v.Target.Selected()
	return th, 0, err == nil && selected.Goroutine == 0 && selected.Thread == tid, err
}
