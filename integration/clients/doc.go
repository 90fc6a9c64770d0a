// Command clients connects several clients to one session, and counts how soon each learns
// of what another does:
//
//	go run ./integration/clients [-on headless|multi|proxy] [-runs N] [-restarts N] [-ends N] [-clew PATH] [-times FILE]
//
// Two editors (by the Debug Adapter Protocol) and two clients of Delve's JSON-RPC share a program: on a headless server of
// clew's, or through clew proxy on Delve's own. In an editor's session of clew dap --multi there is that editor alone.
// In each run every client does every action once; every other client must learn of it, by
// an event or, over JSON-RPC, by a state that it waits for. Restarts and the ends of sessions are counted apart. Latencies count from the actor's answer; where
// the answer comes only with the stop, that of the resume counts from the request. The table has a row for each action and each kind of actor
// and observer. The exit status is 1 when fewer than 99 of 100 are within 100 ms, when a
// client is told the wrong thing, or when one hangs.
//
// With the race detector in clew (the files race.* say what it has found):
//
//	GOFLAGS=-race GORACE=log_path=/tmp/race go run ./integration/clients -runs 3 -ends 9
package main
