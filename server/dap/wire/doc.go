// Package wire is what passes between a client of the Debug Adapter Protocol and Delve's
// session: both connections, the numbers of messages, and the requests that wait for an
// answer. It knows nothing of stacks.
//
//   - bridge.go: reads both connections, and routes requests and events to a [Handler]
//   - link.go: requests to Delve, the client's and clew's own, and their answers
//   - client.go: answers, errors and events to the client
//   - requests.go: clew's own requests that can be cancelled
//   - progress.go: progress of long work
//   - long.go: messages that are too long for Delve or for the client
//   - lost.go: an upstream that is gone
//
// Requests keep the client's number on their way to Delve, which quotes it in error
// texts; injected ones have numbers far above. A response goes out in the order in which
// it was written, before the events that it causes.
package wire
