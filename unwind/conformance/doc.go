// Package conformance is the test suite that every unwinder must pass: clew's
// own strategies, third parties', in the host's process or behind a process
// boundary. It tests the contract of [unwind.Unwinder], not a format:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, func() unwind.Unwinder { return New() }, conformance.Options{
//			Images: delta,           // what the strategy needs to know
//			Walks:  []conformance.Walk{walk}, // stacks that it can unwind
//		})
//	}
//
// The suite needs at least one stack that the strategy walks for three steps or
// more. [FrameRecords] makes one for strategies that follow frame pointers. From
// the stacks given it derives the rest: walks that are starved of memory, cut
// short, taken up again frame by frame, run in batches and at the same time,
// told to yield; and it adds hostile registers, stacks and images.
//
// What it asks, by the subtest's name:
//
//   - describe: name, version, architectures and trust make sense.
//   - update: one report for each added image, in order; removing an image that
//     was never there is no error.
//   - corrupt images: sections of garbage are a report, not an error.
//   - walks: the stacks given unwind, to the callers given.
//   - starved: without any memory, and given only what it asks for, a walk asks
//     for little, always gets further, and ends like the walk with all memory.
//   - limit: MaxFrames is kept, and what comes first does not depend on it.
//   - resumed: asked for one step at a time, the strategy gives the same steps.
//   - repeated, concurrent, batches: a walk depends on its request only.
//   - registers: AllRegisters adds registers and changes none.
//   - yield: a walk stops where it enters a range of another strategy.
//   - foreign architecture: no rule, no error.
//   - hostile: no registers, stack or code makes it panic, hang or answer with
//     what cannot be.
package conformance
