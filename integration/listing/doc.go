// Package listing holds tests of `clew stack --pid` without further flags: every
// goroutine and thread of a process, which is stopped for a moment only. The
// program, testdata/crowd, says by itself what its goroutines do (runtime.Stack),
// and so do stripped builds of it.
package listing
