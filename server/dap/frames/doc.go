// Package frames shows a program's frames to a client of the Debug Adapter Protocol.
//
//   - stacktrace.go, gostack.go, prefetch.go: a page of a stack, Delve's own where it is right,
//     else assembled; work that is done before the client asks, or while Delve answers
//   - stacks.go, view.go, assemble.go: what these need of a stop, and keep for it
//   - rows.go, rowwriter.go, delveframes.go: the page's rows and their JSON; Delve's bytes of Go frames stay as they are
//   - clewstack.go: a stack with the evidence for each frame
//   - ids.go: IDs of frames and variables; those of another stop are refused
//   - scopes.go: what a frame holds
//   - insert.go: Delve answers about a frame that only clew knows
//   - threads.go, stopped.go: threads without a goroutine
//   - notes.go: defects that are shown once
package frames
