package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/clewdbg/clew/internal/testneed"
)

// A missing need and Find's error about it.
type missing struct {
	need   testneed.Need
	reason error
}

func missingNeeds() []missing {
	var list []missing
	for _, n := range testneed.Needs {
		if _, err := n.Find(); err != nil {
			list = append(list, missing{n, err})
		}
	}
	return list
}

// installDebian installs the packages of missing needs.
func installDebian(list []missing) error {
	var packages []string
	for _, m := range list {
		packages = append(packages, m.need.Debian...)
	}
	slices.Sort(packages)
	packages = slices.Compact(packages)
	apt, err := exec.LookPath("apt-get")
	switch {
	case err != nil:
		return fmt.Errorf("%s: no apt-get here: install them by your system's own means", strings.Join(packages, " "))
	case os.Geteuid() != 0:
		return fmt.Errorf("not root: run `apt-get install %s` as root", strings.Join(packages, " "))
	}
	return errors.Join(
		// An old list still serves where the package's version has not changed.
		runApt(apt, "update"),
		runApt(apt, append([]string{"install", "-y", "--no-install-recommends"}, packages...)...),
	)
}

func runApt(apt string, args ...string) error {
	cmd := exec.Command(apt, append([]string{"-q"}, args...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", cmd, err)
	}
	return nil
}
