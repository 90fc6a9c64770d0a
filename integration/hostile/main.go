// Command hostile asks what becomes of clew, and of its stacks, where memory, tables and files are damaged:
//
//	go run ./integration/hostile memory     # stacks whose memory was overwritten; odd stacks; a million frames
//	go run ./integration/hostile damage     # one wrong offset in a table: docs/accuracy.md
//	go run ./integration/hostile mutated    # whole commands over damaged input: docs/limits.md
//	go run ./integration/hostile fuzz       # every fuzz target of the module
//
// The folder of each has its arguments (go doc ./integration/hostile/memory). memory and damage take some minutes; mutated and fuzz
// as long as -time says. Package faults kills, stops and starves clew's own processes, as tests.
package main

import (
	"github.com/clewdbg/clew/integration/hostile/damage"
	"github.com/clewdbg/clew/integration/hostile/fuzz"
	"github.com/clewdbg/clew/integration/hostile/memory"
	"github.com/clewdbg/clew/integration/hostile/mutated"
	"github.com/clewdbg/clew/integration/internal/suite"
)

func main() {
	suite.Run(map[string]func(){"memory": memory.Main, "damage": damage.Main, "mutated": mutated.Main, mutated.Between: mutated.RunBetween, "fuzz": fuzz.Main})
}
