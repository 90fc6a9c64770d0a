// Package plain has C without optimization.
package plain

// #cgo CFLAGS: -O0 -g
// #cgo LDFLAGS: -L${SRCDIR}/../lib -lsteps -Wl,-rpath,${SRCDIR}/../lib
// int run_plain(int n);
// int run_shared(int n);
import "C"

// Run runs what needs no library.
func Run() int { return int(C.run_plain(1)) }

// Shared runs what a library has.
func Shared() int { return int(C.run_shared(1)) }
