package main

import (
	"fmt"
	"os"
	"os/exec"

	"github.com/clewdbg/clew/server/delve/executable"
)

// loadCommand is internal: it loads an executable as Delve does, before a session does so.
const loadCommand = "load"

// loadExecutable loads the first argument; the others are folders of separate debug files.
func loadExecutable(args []string) int {
	if len(args) == 0 {
		return exitUsage
	}
	if err := executable.Load(args[0], args[1:]); err != nil {
		tell(os.Stderr, "%v", err)
		return exitFailed
	}
	return exitDone
}

func loaderCommand(args ...string) (*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find clew's own executable: %w", err)
	}
	return exec.Command(exe, append([]string{loadCommand}, args...)...), nil
}
