// Package plugin makes a program of an unwinder: a plugin that clew runs in a
// process of its own. A whole plugin is
//
//	func main() { plugin.Serve(myUnwinder{}) }
//
// where myUnwinder implements [unwind.Unwinder]; folder example holds one that
// works. Named in clew.json with its path, its SHA-256 and its rank, it is
// started when it is first needed.
//
// # What a plugin can rely on
//
//   - It is spoken to over a unix socket in a folder that only the user can
//     enter, over gRPC; the messages are in package unwind/wire/unwindv1, for
//     plugins in other languages.
//   - Standard input is empty, the environment is minimal, the working directory
//     is the root. What it writes to standard error goes to clew's log.
//   - It ends with its host, even when the host is killed (see below), and the
//     terminal's Ctrl-C does not reach it.
//
// # What is asked of it
//
//   - Answer a walk within the session's deadline (250 ms unless configured); a
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
