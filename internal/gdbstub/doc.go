// Package gdbstub runs programs of another architecture under qemu's user-mode
// emulation, and controls them through its GDB stub (GDB manual, appendix "GDB
// Remote Serial Protocol"). It is for tests.
package gdbstub
