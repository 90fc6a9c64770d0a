package live

import (
	"github.com/clewdbg/clew/unwind"
)

// withoutEmptyEnd leaves out the frames without a PC that Delve's stack of a
// thread ends with. They claim nothing, and how many there are depends on how
// often Delve was asked: it keeps the walk of a thread without a goroutine for as
// long as the program stands, and goes on with it when it is asked again, at the
// end too. Example: a thread in runtime.futex has 9 frames at first, and 2 more,
// with the PC 0, whenever its stack is walked once more.
// Test: TestEmptyEnd, and TestExportIsThatOfStack of integration/dap, where one
// thread is walked in each of a dozen exports.
func withoutEmptyEnd(claims []unwind.Frame) []unwind.Frame {
	for n := len(claims); n > 1 && claims[n-1].PC.Raw() == 0; n-- {
		claims = claims[:n-1]
	}
	return claims
}
