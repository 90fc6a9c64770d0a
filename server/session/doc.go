// Package session owns the state of a debug session that several clients share: editors,
// which speak the Debug Adapter Protocol, and clients of Delve's JSON-RPC.
//
// Every command of every client passes here before Delve sees it. Delve has locks but no
// state that a client could trust: a request that comes while the program runs waits for
// Delve's lock, a second command waits behind the first, and a halt between two commands is
// lost. Here a request is refused at once, by the name of the client that has resumed the program.
//
//   - A client reads the stopped program under a lease ([Client.Use]). Leases are shared; the
//     program is not resumed while there is one.
//   - A resume enters from the stopped state alone ([Client.Resume]), and waits for leases. The
//     [Run] that it returns ends with the program's stop or its exit.
//   - A halt uses the door of the client that has resumed the program, again and again until the run
//     has ended ([Client.Halt]): Delve forgets a halt that comes before the program runs.
//   - Work that cannot wait for a stop, as setting breakpoints, has Delve halt the program for a
//     moment ([Client.Aside]). No client learns of that: the run goes on.
//   - Each change is told to all other clients at once ([Event]), in the order of the
//     changes: a stop always after the resume before it.
//   - Breakpoints belong to the client that has set them; Delve has the union ([Breakpoints]).
//
// The package knows neither Delve nor a protocol.
package session
