package delve

import (
	"os"
	"slices"
	"strings"

	"github.com/go-delve/delve/cmd/dlv/cmds"
	"github.com/go-delve/delve/pkg/logflags"
	"github.com/spf13/cobra"
)

// CommandTree is Delve's command line.
func CommandTree() *cobra.Command { return cmds.New(false) }

// RunCommandLine runs Delve's command line with these arguments (without the
// program's name) as dlv's main function does: it builds C code without
// optimisation unless CGO_CFLAGS says otherwise. Wrong usage has been printed when it
// returns; Delve's commands end the process themselves when they fail.
func RunCommandLine(root *cobra.Command, args []string) {
	if os.Getenv(cgoFlags) == "" {
		setCgoFlags = true
		os.Setenv(cgoFlags, "-O0 -g")
	} else {
		logflags.WriteCgoFlagsWarning()
	}
	root.SetArgs(args)
	_ = root.Execute()
}

const cgoFlags = "CGO_CFLAGS"

// setCgoFlags says that CGO_CFLAGS is what RunCommandLine has set.
var setCgoFlags bool

// Environ is the environment that this process was started with, for another one
// that runs Delve's command line: it would warn of the flags that were set here.
func Environ() []string {
	env := os.Environ()
	if !setCgoFlags {
		return env
	}
	return slices.DeleteFunc(env, func(s string) bool { return strings.HasPrefix(s, cgoFlags+"=") })
}
