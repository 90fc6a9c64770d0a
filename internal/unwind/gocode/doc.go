// Package gocode reads from the code of Go's runtime where it keeps what stacks
// need. Functions of assembly, which Go's tables know in stripped programs too,
// name the offsets in their instructions: what is read there cannot go stale as a
// table by version numbers does.
//
// It is a decoder: bytes in, offsets out. Code that is none it knows gives an
// error.
package gocode
