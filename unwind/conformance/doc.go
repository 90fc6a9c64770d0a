// Package conformance is the test suite that every unwinder must pass: clew's
// own strategies, third parties', in the host's process or behind a process
// boundary. It tests the contract of [unwind.Unwinder] and knows no format:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, func() unwind.Unwinder { return New() }, conformance.Options{
//			Images: delta,           // the images that the strategy needs
//			Walks:  []conformance.Walk{walk}, // stacks that it can unwind
//		})
//	}
//
// The suite needs at least one stack that the strategy walks for three steps or
// more. [FrameRecords] makes one for strategies that follow frame pointers. It
// derives the rest from these stacks: walks that are starved of memory, cut
// short, taken up again frame by frame, run in batches and at the same time,
// told to yield; and it adds hostile registers, stacks and images.
//
// The checks, by the subtest's name:
//
//   - describe: name, version, architectures and trust make sense.
//   - update: one report for each added image, in order; removing an unknown
//     image is no error.
//   - corrupt images: garbage in a section leads to a report, not an error.
//   - walks: the stacks in Options unwind to their expected callers.
//   - starved: a walk that begins without memory and receives only the memory
//     it asks for asks for little, always advances, and ends like the walk with
//     all memory.
//   - limit: MaxFrames is kept, and the first steps do not depend on it.
//   - resumed: asked for one step at a time, the strategy returns the same
//     steps.
//   - repeated, concurrent, batches: a walk depends on its request only.
//   - registers: AllRegisters adds registers and changes none.
//   - yield: a walk stops where it enters another strategy's range.
//   - foreign architecture: no rule, no error.
//   - hostile: no registers, stack or code makes it panic, hang or return an
//     impossible answer.
package conformance
