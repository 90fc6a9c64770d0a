// Package dlvtests runs Delve's own command-line tests (cmd/dlv), unmodified,
// with clew in the place of dlv: whatever passes with dlv must pass with clew.
//
// The tests build the binary that they run by "go build"; a go command of ours,
// first in PATH, hands them the one to be tested and leaves everything else to
// the real one.
//
// TestThroughProxy runs Delve's suites of clients, of DAP (service/dap) and JSON-RPC
// (service/test), with `clew proxy` between: some tests by default, those that the flag -proxied
// names otherwise.
package dlvtests
