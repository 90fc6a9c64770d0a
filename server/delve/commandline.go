package delve

import (
	"errors"
	"os"
	"os/exec"

	"github.com/go-delve/delve/cmd/dlv/cmds"
	"github.com/go-delve/delve/pkg/logflags"
)

// RunCommandLine runs Delve's own command line with these arguments (without
// the program's name) and returns its exit code. Like dlv itself it builds C
// code without optimisation unless CGO_CFLAGS says otherwise. Most failures end
// the process within Delve.
func RunCommandLine(args []string) int {
	const cgoFlags = "CGO_CFLAGS"
	if os.Getenv(cgoFlags) == "" {
		os.Setenv(cgoFlags, "-O0 -g")
	} else {
		logflags.WriteCgoFlagsWarning()
	}
	root := cmds.New(false)
	os.Args = append([]string{os.Args[0]}, args...)
	root.SetArgs(args)
	err := root.Execute()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return 1
}
