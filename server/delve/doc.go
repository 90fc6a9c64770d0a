// Package delve holds a session of Delve's on a local process or core file: it opens the program, serves Delve's DAP session, runs Delve's command line
// unchanged ([RunCommandLine]), and sets and finds breakpoints in native code. A [Session] is what holds the program (package held), what
// is read of it at a stop (package reading), and its steps (package steps). What stands between Delve and the process is in package interpose.
//
// Beside these only server/terminal imports Delve, for its server and terminal, and
// server/remote, as a client of such a server; what clew relies on of Delve's insides
// is in package internals.
//
// Delve waits for any child (wait4(-1)), so one process holds at most one live
// session.
package delve
