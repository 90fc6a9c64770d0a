// Package simulate makes rules by simulating a function's code (package prologue):
// for strategies whose tables are right in a function's body only (Apple's compact
// unwind information, and DWARF tables that were made for calls, R4).
package simulate
