// Package dap stands between a client of the Debug Adapter Protocol and Delve's
// own DAP session, and answers what it knows better: stacks.
//
// Everything passes unchanged, unknown requests and events included, but for
// the messages that this package has a reason to look at. For those it asks
// Delve as well, with requests of its own whose answers the client does not see:
// Delve takes one request after the other, so that its answer also says that
// everything before is done and whether the program stands still. Only then
// does clew look at the program itself, within a bounded time, and if it fails,
// stalls or panics there, Delve's answer goes out as it is.
//
// # Numbers
//
// Both directions are numbered anew where needed. Requests keep the client's
// number on their way to Delve, which quotes it in error texts; injected ones
// have numbers far above. A response goes out in the order in which it was
// written, before the events that it causes.
//
// Frames that Delve knows keep Delve's IDs, and with them their variables.
// Frames and variables that only clew knows have IDs from [FirstID] up, with the
// epoch (the count of stops) in them: old ones are refused. Such a frame is lent to
// Delve for a request about it, so that types, values and expressions are Delve's
// there too; a frame that was only scanned for is not. A C thread without a
// goroutine is a DAP thread with the ID FirstID + its thread ID.
//
// # Parts
//
//   - proxy.go, link.go, client.go: both connections, injected requests, numbers
//   - state.go: does the program run, and at which stop does it stand
//   - launch.go, initialize.go: what client and clew tell each other at the start
//   - target.go: what is debugged, as Delve has it
//   - remote.go: a program that others may let run, too
//   - program.go: the program at a stop or in a core file (server/stop)
//   - strategies.go: sets of strategies, the configured one and others
//   - clewstack.go, clewreunwind.go, clewexport.go, clewimages.go, clewplugins.go:
//     requests of clew's own; progress.go, cancel.go: what long ones have
//   - prefetch.go: what is done before a client asks, or while Delve answers
//   - stacktrace.go, gostack.go, rows.go, delveframes.go: stacks; notes.go: what is
//     said about them once
//   - clewconsole.go, completions.go: commands of clew's in the debug console
//   - scopes.go, variables.go, ids.go: what a frame holds; lend.go: Delve answers
//     about a frame that only clew knows
//   - threads.go, stopped.go, threadid.go: threads without a goroutine
//   - step.go: steps, checked before Delve does them (server/stepping)
//   - lost.go: what the client is told when Delve, in another process, is gone
//   - guard.go: who kills the program when clew dies
package dap
