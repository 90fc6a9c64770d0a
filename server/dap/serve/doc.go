// Package serve accepts clients of the Debug Adapter Protocol as `dlv dap` does,
// and serves each a session: Delve's own, with the proxy before it.
//
// Like dlv a server takes one client and ends with its session. With
// [Server.Multi] it goes on, and every session has a process of its own, because
// Delve can hold only one live program a process. A client of Delve's JSON-RPC joins
// the session that was the last to get a program ([Joiner]).
//
// Who may connect is decided here: on loopback only the user that runs the
// server, found by the kernel's table of connections as Delve does it, and on
// unix sockets by the credentials of the peer.
package serve
