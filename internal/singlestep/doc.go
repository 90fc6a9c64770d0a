// Package singlestep runs programs one instruction at a time, for tests that
// compare clew's stack with a shadow stack: under ptrace, or under
// qemu's user-mode emulation by its debug stub.
package singlestep
