// Package proxy stands before a Delve server that runs already, here or on
// another machine: a headless one, on whose port clients of JSON-RPC
// (`dlv connect`) and of the Debug Adapter Protocol speak, or `dlv dap`.
//
// Every client of the proxy has a connection of its own to the server. The first
// byte decides the protocol, as for Delve itself. DAP goes through server/dap, and
// JSON-RPC through server/terminal, which answer requests about stacks. They share one
// session (server/session), unless the server is clew's and has its own: each request asks its
// owner first, and each change is told to the other clients. What a client does that is connected to the server
// directly is not known here. Test: integration/clients TestThrough.
//
// # What the server takes
//
// A headless server without --accept-multiclient, and `dlv dap`, take one
// connection, ever, and end with it: a connection made as a test would be that
// one. The proxy therefore connects once when it starts, which also says whether
// the server is there, and keeps that connection for the first client. When a
// client has taken it, the proxy asks on a second connection whether the server
// takes several; there is no answer from one that does not.
// Test: integration/dap TestOneClient.
//
// # Ends
//
// The proxy ends when the server is gone. It knows by a connection that it keeps
// for that: the first, until a client has it; then the second; where there is no
// second, the end of the only client's connection is the end of the server.
// Requests that the server has not answered are answered with an error, in
// either protocol.
//
// # Parts
//
//   - server.go: listening, and the proxy's end
//   - upstream.go: connections to the server, and whether it is still there
//   - client.go: one client, and its protocol
//   - jsonrpc.go, bounded.go: JSON-RPC, and the length of the server's answers
package proxy
