// Package export writes assembled stacks: as text for people, as JSON, in the
// Compact Backtrace Format with its image map, as Swift's envelopes, and as a
// profile for pprof and for OpenTelemetry.
//
// # Export as CBF
//
// The physical frames, innermost first, by their raw addresses: an inlined
// function has no frame of its own, and the adjusted address that names are
// looked up by (R9) is never exported. The innermost frame and one
// that a signal interrupted are pc, all others ra. A complete stack ends in end;
// a truncated one, whether for lack of a rule or by a limit on its depth, in
// trunc (R8). See [Frames].
//
// # Files
//
// A file appears whole or not at all: it is written beside its place under
// another name, and renamed. So is a folder. See [WriteFile], [WriteStack] and
// [WriteFolder].
//
// # Reading back
//
// Package document, below this one, reads these formats back, whoever wrote
// them.
package export
