// Package counter counts in Go's assembly.
package counter

// Add adds one.
func Add(to *int32)
