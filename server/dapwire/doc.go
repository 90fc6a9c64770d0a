// Package dapwire reads and writes messages of the Debug Adapter Protocol. It knows
// their framing, and the few fields that a proxy needs: sender, number, request that is
// answered. All else stays the bytes that came.
//
// Messages that clew itself originates (responses, events, requests to Delve) are types
// of github.com/google/go-dap, and go through [NewRequest], [NewEvent], [NewResponse]
// and [NewError]. clew's extensions of the protocol embed those types. What passes from
// one side to the other is not decoded into them, for four reasons:
//
//   - Bounds. go-dap's reader allocates what a header claims, up to 4 MiB, and ends at
//     a longer message. A stack of a million frames is far longer. [Reader] has a
//     configurable bound ([DefaultMaxContent]), allocates only as bytes arrive, and can
//     skip a message that is too long ([NewSkippingReader]).
//   - Bytes. Decoding and encoding changes what passes: the order of fields, numbers
//     above 2^53, omitted and null fields. An [Object] keeps every byte that was not
//     replaced.
//   - Unknown content. go-dap refuses requests and events that it does not know, and
//     drops unknown fields. Both pass here, so that clew need not know a version of the
//     protocol for an editor and Delve to use it.
//   - Numbers. A proxy renumbers every message. [Message.SetSeq] replaces the digits
//     instead of encoding the message again.
package dapwire
