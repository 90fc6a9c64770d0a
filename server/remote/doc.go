// Package remote reads a program that a headless Delve server debugs, here or on
// another machine: it is one client of several of the server's JSON-RPC, and asks it
// for registers, memory, breakpoints and frames.
package remote
