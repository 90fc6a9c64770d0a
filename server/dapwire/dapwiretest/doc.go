// Package dapwiretest makes messages for tests that play a client or a debugger: with
// any command and any fields, those that the protocol does not have included.
package dapwiretest
