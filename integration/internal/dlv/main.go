// Command dlv is Delve, of the version that clew is built with, and nothing else:
// clew's stacks are compared with its stacks. Delve's own main package cannot be
// built here: it needs modules that clew does not.
package main

import "github.com/go-delve/delve/cmd/dlv/cmds"

func main() {
	// It ends the process itself where a command fails, and builds nothing here,
	// so that there are no flags for C compilers to set.
	_ = cmds.New(false).Execute()
}
