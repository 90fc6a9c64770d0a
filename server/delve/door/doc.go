// Package door is the way to the program that Delve holds. Delve holds the lock of its debugger for as long as a command lets the program run: a
// request that waits for that lock waits for the program's next stop, and those that would bring the stop wait behind it.
//
// So nothing outside this package has Delve's debugger of a session: it has a [Door], which opens at a stop alone ([Door.Stopped]), and else says
// [ErrRunning]. A door waits for what else holds the lock, which is over soon: another client's stack, or the moment between a stop and the end of the command
// that has run. The servers of Delve's own protocols (server/terminal) have the debugger itself, and ask the session's owner before (server/session).
package door
