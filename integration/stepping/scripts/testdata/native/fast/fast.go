// Package fast has optimized C.
package fast

// #cgo CFLAGS: -O2 -g
// int run_fast(int n);
import "C"

// Run runs it.
func Run() int { return int(C.run_fast(1)) }
