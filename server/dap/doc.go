// Package dap stands between a client of the Debug Adapter Protocol and Delve's
// own DAP session, and answers what it knows better: stacks.
//
// Everything passes unchanged, unknown requests and events included, except for
// the messages that this package handles. For those it asks Delve as well, with requests
// whose answers the client does not see: Delve takes one request after the other, so that
// its answer also says that everything before is done and whether the program stands
// still. Only then does clew read the program itself, within a bounded time. If that
// fails, stalls or panics, Delve's answer goes out as it is.
//
// # Numbers
//
// Both directions are numbered anew where needed. Requests keep the client's
// number on their way to Delve, which quotes it in error texts; injected ones
// have numbers far above. A response goes out in the order in which it was
// written, before the events that it causes.
//
// Frames that Delve knows keep Delve's IDs, and with them their variables.
// Frames and variables that only clew knows have IDs from [debuggee.FirstID] up, with the
// epoch (the count of stops) in them: old ones are refused. Such a frame is
// inserted into Delve's stack for a request about it, so that types, values and
// expressions are Delve's there too; a frame that was only scanned for is not. A C thread without a
// goroutine is a DAP thread with the ID FirstID + its thread ID.
//
// # Parts
//
// Arrows go down only, from the last of these to the first:
//
//   - wire: both connections, numbers, cancelled and long requests
//   - debuggee: the program from stop to stop, the session's configuration and strategies
//   - frames: rows of stacks, IDs, scopes, threads; Delve answers about a frame that only
//     clew knows
//   - this package: the requests, a small type for each concern, to which the [Proxy] routes
//     by a table
//   - serve: listening, a process for each session
//
// The files of this package:
//
//   - proxy.go: the table
//   - share.go, breaks.go, told.go: this client's part in a session of several: what it may do
//     now, breakpoints, what it is told of the others
//   - launch.go, initialize.go, restart.go: what client and clew tell each other at the start
//   - run.go: what lets the program run or changes its memory; guard.go tells the guard
//   - step.go: steps, checked before Delve does them (server/stepping); steptargets.go: the calls of a line
//   - variables.go: variables and expressions
//   - memory.go: references to the memory of variables, and what is read there
//   - sources.go: the files that the program was built from
//   - modules.go: the protocol's own list of images
//   - clewexport.go, clewimages.go, clewplugins.go, clewreunwind.go: requests of clew's own
//   - clewconsole.go, completions.go: commands of clew's in the debug console
package dap
