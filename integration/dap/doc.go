// Package dap holds `clew dap` to what editors get from `dlv dap`: scripted
// sessions are played against both and compared message by message, apart from
// the differences that are meant (intended.go), and the stacks that it gives are
// compared with what programs recorded of themselves.
package dap
