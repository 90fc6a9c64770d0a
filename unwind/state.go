package unwind

import "time"

// State is what Go's runtime notes of a goroutine.
type State struct {
	// Status and WaitReason are in the words of the runtime's own traces: "waiting",
	// "chan receive".
	Status, WaitReason string
	// WaitSince is when a garbage collection first found the goroutine waiting. It has
	// waited at least since then. The zero time is "not known": there was no collection.
	WaitSince    time.Time
	LockedThread uint64            // the thread that is reserved for it, 0 for none
	Labels       map[string]string // as runtime/pprof sets them
	CreatedBy    *Creation         // nil if it is not known, or for the first goroutine
	// WaitsOn is the address of the channel that it waits on, 0 if it waits on
	// none or that is not known.
	WaitsOn uint64
	// Ancestors led to the goroutine, its creator first; nil where the runtime keeps none.
	Ancestors []Ancestor
}

// Creation is the go statement that started a goroutine.
type Creation struct {
	PC             ReturnAddr
	Function, File string
	Line           int
	Goroutine      uint64 // the goroutine that executed it, 0 if not known (before Go 1.21)
}

// Ancestor is a goroutine that has started another, with its calls at that time, innermost
// first.
type Ancestor struct {
	Goroutine uint64
	Calls     []Creation // without their Goroutine
}
