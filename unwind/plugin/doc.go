// Package plugin turns an unwinder into a program: a plugin that clew runs in a
// separate process. A complete plugin is
//
//	func main() { plugin.Serve(myUnwinder{}) }
//
// where myUnwinder implements [unwind.Unwinder]; the folder example holds a
// working one. clew.json names the plugin with its path, SHA-256 and rank; clew
// starts it when it is first needed.
//
// # Guarantees to a plugin
//
//   - The host connects over a unix socket in a folder that only the user can
//     enter, over gRPC; the messages are in package unwind/wire/unwindv1, for
//     plugins in other languages.
//   - Standard input is empty, the environment is minimal, the working directory
//     is the root. Its standard error goes to clew's log.
//   - It ends with its host, even if the host is killed (see below). The
//     terminal's Ctrl-C does not reach it.
//
// # Duties of a plugin
//
//   - Answer a walk within the deadline (walkTimeout in clew.json; 1 s in a debug session, else 2 s); a
//     plugin that does not is killed and started again.
//   - Keep no state between walks. After a crash the host sends all images again
//     and repeats the call once; three failures within a minute switch the
//     plugin off for the session.
//
// # The life-line
//
// The variable CLEW_PLUGIN_LIFELINE names an inherited file descriptor, the
// reading end of a pipe whose other end only the host holds. End of file on it
// means that the host is gone, in whatever way: the plugin removes its socket
// and the session's folder (CLEW_PLUGIN_SESSION), and exits. One byte on it
// means that the host wants it to exit. Plugins in other languages must do the
// same.
package plugin
