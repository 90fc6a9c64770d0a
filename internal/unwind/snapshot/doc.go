// Package snapshot has the snapshot format: one stopped program (registers,
// stack memory, images, Delve's claims, and the expected answer of an unwinder)
// as one JSON object on one line. Users send snapshots with reports of wrong
// stacks; regressions are kept in this form, and unwinders are measured with it
// without a process.
//
// [NewReader] reads a stream of lines, [Parse] one of them, [Snapshot.Marshal]
// writes one. Input is checked: a snapshot that contradicts itself (two windows
// of memory with different bytes at one address, a segment that ends before it
// begins, a register that its architecture does not have) is an error with the
// line and the path of the field, because an unwinder's answer to it would be
// worthless. Fields that this version does not know are ignored.
//
// The format's schema is in package schema below this one; frames and
// expectations have the forms of package stackjson.
package snapshot
