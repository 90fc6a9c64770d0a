// Package terminal holds clew's interactive and headless sessions to dlv's: scripts
// are played to both, a program of Go's only must give the same transcript, and in
// programs with C code every way to see a stack, or a frame of it, must agree with
// `clew stack`.
package terminal
