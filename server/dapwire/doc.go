// Package dapwire reads and writes messages of the Debug Adapter Protocol
// without knowing what they say: their framing, and the few fields that a proxy
// needs (who asks, who answers, which number). Everything else stays the bytes
// that came, so that requests, events and fields which nobody here has heard of
// pass unchanged.
//
// Frames are bounded ([DefaultMaxContent], configurable): nothing is allocated
// for a length that the peer only claims.
package dapwire
