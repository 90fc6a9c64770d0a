// Package split is a recursion in C whose stack is split: it goes on in memory that
// __morestack has allocated.
package split

/*
#cgo CFLAGS: -fsplit-stack
*/
import "C"
