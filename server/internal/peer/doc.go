// Package peer asks the kernel who is at the other end of a connection: which
// user, and, on Linux, whether that is the debugger of a process here.
package peer
