// Package switches holds tests of the stack switches of Go's runtime (R14): a
// program that makes each of them (testdata/switching) is stopped in the middle,
// at the runtime's own functions and their single instructions, and its stack is
// compared with the truth: the return addresses and CFAs that its C
// functions recorded, and its Go functions in order.
package switches
