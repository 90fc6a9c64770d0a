// Package simulate makes rules of what package prologue finds out of a function's
// own code: for strategies whose tables are right in a function's body only (Apple's
// compact unwind information, and DWARF tables that were made for calls, R4).
package simulate
