// Package stop has the stacks of a program that a debugger holds at a stop: which
// threads and goroutines there are, which one is selected, their stacks with
// Delve's frames matched to them, and how a step is done safely.
//
// [Stopped] is the program at one stop, with what was found there. [Stops] has
// work done at the present stop, one piece at a time and in bounded time, and
// keeps what was found until the program runs. [Stacks] adds the strategies, for
// a client that asks for stacks only. A terminal, an editor's session and a
// single command are clients: they hold no stacks themselves.
//
// The program behind is an interface, [Program]: package live has real ones, and
// package stoptest one that tests are made with.
//
// # Parts
//
//   - program.go: what a program and its debugger must offer
//   - turn.go: one piece of work at a time: bounded, paced, cancelled, given up
//   - stops.go: the present stop, kept until it has passed
//   - warm.go, ahead.go: what strategies learn before the first stop
//   - stopped.go, threads.go: one stop; its threads and goroutines
//   - stack.go, gostack.go, claims.go: stacks by strategies, by Go's own tables,
//     and Delve's frames
//   - registers.go, names.go, step.go: of a frame, of an address, before a step
//   - stacks.go: the stacks of a session with one set of strategies
package stop
