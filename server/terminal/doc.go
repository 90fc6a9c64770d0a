// Package terminal is Delve's JSON-RPC server, and Delve's terminal before it,
// with clew's stacks: what dlv's debug, exec, test, attach and core commands run,
// interactively and headless.
//
// Delve's debugger does the work. Each client has a table of the methods of Delve's
// interface ([rpcClient.table]): every request asks the session's owner first (server/session), and those
// that return a stack, or rest on one, ask clew:
//
//   - Stacktrace returns the assembled stack. Frames that Delve has too are Delve's, with
//     its variables; their names and lines are those of `clew stack`. A stack of Go code
//     that both have alike is Delve's answer as it is.
//   - Every frame number that a client sends is one of the stack that it was
//     shown, and becomes Delve's number, or a frame that only clew knows.
//   - Command checks the caller before next, step and stepout.
//   - State, and the state at the end of a Command, describe code that is not Go's, and
//     take locations of goroutines from the assembled stack.
//
// Editors, which speak the Debug Adapter Protocol on the same port, get a proxy
// before Delve's session, as in clew dap ([port]). Every client may resume
// the program: a stack is valid until then ([shared]).
//
// Before a Delve server in another process ([Front], what clew proxy runs) the same methods are clew's, and all
// other requests are relayed. The program is server/remote's, by the same connection.
//
// Where clew fails or takes too long, the client gets Delve's answer.
package terminal
