// Package change proves that clew notices when Delve's insides change. It copies
// Delve's source (and go-dap's), changes one thing at a time that server/delve/internals
// lists, builds clew with it, and reports who notices: the compiler, the check that
// every session begins with, or a test. A change that is not noticed as expected is a
// failure.
//
//	go run ./integration/delve            # all of them: some minutes
//	go run ./integration/delve launch-log # only those of an entry
//
// The test of this package proves the same of every change that the check at the
// start notices, with one build. The table in server/delve/internals/README.md is this
// command's output.
package change
