// Package wire carries the [unwind.Unwinder] contract over gRPC: it converts
// between the domain's values and the messages of package unwindv1, and checks
// every message from the other side. [Register] serves an unwinder, [Client]
// calls one that runs elsewhere and is one itself.
//
// The other side is never trusted: columns must agree in length, indexes must
// lie in their tables, counts are checked before anything is allocated by them.
// A message that breaks the contract leads to a [*ContractError], never to a
// panic.
//
// # Limits
//
// A message to a plugin is smaller than [MaxRequest] (3 MiB, since gRPC's
// default limit for a server is 4 MiB): batches of walks are split, and of a
// single request that is too large the last windows are cut, which the strategy
// answers with StopMemory where it needed them. Sections travel in pieces of
// [chunkSize]. An answer is at most [MaxAnswer].
//
// # Cost
//
// A walk's steps travel as columns (one array for each of PC, CFA, SP, FP), the
// rules as a table of strings with an index for each step: a run of some
// hundred steps costs about as much as copying its memory window.
package wire
