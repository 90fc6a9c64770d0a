// Package gocode finds the offsets of fields of Go's runtime that unwinding
// needs, by decoding the runtime's code. Assembly functions, which Go's tables
// list even in stripped programs, contain the offsets in their instructions.
// Unlike a table by version numbers, these cannot go stale.
//
// It is a decoder: bytes in, offsets out. Unknown code is an error.
package gocode
