// Package debuggee is the program that a DAP session debugs, from stop to stop: whether it
// runs and at which stop it stands, what Delve has of it, a core file, a program behind a
// Delve server, how the session is configured, and the strategies that unwind its stacks.
//
// Work at a stop is done by [Program.AtStop], one piece at a time and in bounded time
// (server/stop).
package debuggee
