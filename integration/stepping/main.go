// Command stepping asks where steps and breakpoints lead, in clew and in other debuggers:
//
//	go run ./integration/stepping places     # out of C functions and over them, from many places in many builds: docs/stepping.md
//	go run ./integration/stepping scripts    # by lines through Go, C and C++, and at breakpoints: docs/stepping-languages.md
//	go run ./integration/stepping exclusive  # through arm64's exclusive instructions; integration/arm64 runs it
//
// The folder of each has its arguments (go doc ./integration/stepping/places). On two processors places takes ten minutes,
// a suite of scripts some minutes.
package main

import (
	"github.com/clewdbg/clew/integration/internal/suite"
	"github.com/clewdbg/clew/integration/stepping/exclusive"
	"github.com/clewdbg/clew/integration/stepping/places"
	"github.com/clewdbg/clew/integration/stepping/scripts"
	"github.com/clewdbg/clew/server/lifeline"
)

func main() {
	suite.Run(map[string]func(){"places": places.Main, lifeline.Command: lifeline.Main, "scripts": scripts.Main, "exclusive": exclusive.Main})
}
