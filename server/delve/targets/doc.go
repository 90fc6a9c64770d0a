// Package targets reads a target of Delve's, for who has the lock that holds it at its stop (package door): its architecture, its threads' registers,
// its memory.
package targets
