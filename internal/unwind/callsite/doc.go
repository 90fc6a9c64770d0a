// Package callsite answers two questions about code by decoding it: whether an
// address is a return address, that is, whether a call ends there; and whether
// the called code can lead to another place without returning.
//
// A word on a stack is a return address only if both hold for the frame below
// it: a call ends at the word, and the called code leads, by jumps alone, to the
// place of the frame below. The second question settles most stale words, which
// are return addresses too, of calls that are over.
//
// The answers err on one side. [Never] is a proof, as far as code can prove: all
// code that can be reached was decoded, nothing in it jumps to an address that
// is not known, and the place was not among it. Anything else is [Reached] or
// [Unknown]. Two ways to enter code are not seen, since no jump leads there: a
// landing pad that an exception enters, and a context that was switched to
// (swapcontext).
//
// The package knows no process: code and pointers come from a [Source].
package callsite
