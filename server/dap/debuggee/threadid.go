package debuggee

// FirstID is where clew's own IDs begin: of frames, of variables, and of threads
// without a goroutine (FirstID + thread ID). Delve's are below: it counts frames
// and variables from 1000, and its threads are goroutines.
const FirstID = 1 << 30

// ThreadOf returns the thread that a DAP thread ID of clew's stands for.
func ThreadOf(id int64) (tid uint64, ok bool) {
	if id < FirstID || id >= 2*FirstID {
		return 0, false
	}
	return uint64(id - FirstID), true
}

// ThreadID is the DAP thread ID of a thread without a goroutine.
func ThreadID(tid uint64) int64 { return FirstID + int64(tid) }
