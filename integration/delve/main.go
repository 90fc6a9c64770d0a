// Command delve asks whether clew still knows Delve's insides; its arguments are those of package change, which writes the
// table of server/delve/internals/README.md in some minutes:
//
//	go run ./integration/delve [ENTRY...]
//
// Two folders ask the rest as tests: dlvtests runs Delve's own tests with clew in its place, and through clew proxy (docs/clients.md);
// reports shows that Delve still has the faults that docs/delve reports.
package main

import "github.com/clewdbg/clew/integration/delve/change"

func main() { change.Main() }
