package unwind

// Thread is one thread of control to unwind: a stopped thread, or a goroutine
// that no thread runs, with the registers of its innermost frame.
type Thread struct {
	ID        uint64 // thread ID, 0 if there is none or it is unknown
	Goroutine uint64 // 0 if there is none
	Registers Registers
	// FirstPC is the kind of the PC register's value: a parked goroutine goes on
	// at a return address.
	FirstPC PCKind
	// Segments are the stacks that its frames can lie on; none where they are not
	// known, so that the order of SP is the only bound.
	Segments []Segment
	// Saved is the state that Go's runtime has saved of the goroutine that the
	// thread runs; nil where that cannot be known.
	Saved *Saved
	// Claims are Delve's frames, innermost first. A frame's DelveFrame is its place
	// in the list unless a snapshot says otherwise.
	Claims []Frame
}

// Saved is the state that Go's runtime keeps of a goroutine while the thread that
// runs it is on another stack (runtime.g.sched). It counts only where the code
// says that it was saved there and then (R14).
type Saved struct {
	G         uint64    // address of the runtime.g, 0 if the thread runs no goroutine
	Registers Registers // PC (a return address), SP and FP; on arm64 x30 too
}
