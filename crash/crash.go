package crash

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Options say where reports go and what is in them. The zero value is useful.
type Options struct {
	// Dir is the folder that gets a folder for each crash. It is made if it is not there. Empty: crashes in clew's folder of the user's state,
	// $XDG_STATE_HOME/clew/crashes or ~/.local/state/clew/crashes.
	Dir string
	// Monitor is the path of clew. Empty: the environment variable CLEW, else clew beside the program's own file, else in PATH.
	Monitor string
	// Output gets the runtime's text of the crash, too, as [debug.SetCrashOutput] would write it: a program has one such file.
	Output *os.File
	// Snapshot adds the memory that the crashed stack was read from. It holds the program's data; without it no memory is in a report.
	Snapshot bool
	// MaxReports and MaxAge bound what is kept in Dir: older reports are removed when one is written. 0: 100 reports, 30 days; below 0: no limit.
	MaxReports int
	MaxAge     time.Duration
	// MaxSize bounds a report without its snapshot, in bytes: stacks are left out, and it says how many. 0: 64 KiB; below 0: no limit.
	MaxSize int
	// MaxPerMinute bounds how many reports are written in a minute, of a program that crashes in a loop. 0: 30; below 0: no limit.
	MaxPerMinute int
}

// ErrNoMonitor says that clew was not found: nothing is installed.
var ErrNoMonitor = errors.New("crash reports are off: clew was not found by CLEW, beside the program, or in PATH")

// ErrUnsupported says that there are no reports on this system.
var ErrUnsupported = errors.New("crash reports are off: they need linux/amd64 or linux/arm64")

// Install switches reports on, for as long as the program runs. A second call replaces the first. Where it fails the program is as it was.
// A program that sets another crash output afterwards switches reports off.
func Install(o Options) error { return install(o) }

// DefaultDir is where reports go if nothing else is said.
func DefaultDir() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("crash reports are off: no folder for them: %w", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "clew", "crashes"), nil
}

// find finds clew.
func find(named string) (string, error) {
	for _, path := range []string{named, os.Getenv("CLEW")} {
		if path == "" {
			continue
		}
		found, err := exec.LookPath(path)
		if err != nil {
			return "", fmt.Errorf("%w: %w", ErrNoMonitor, err)
		}
		return filepath.Abs(found)
	}
	if self, err := os.Executable(); err == nil {
		if found, err := exec.LookPath(filepath.Join(filepath.Dir(self), "clew")); err == nil {
			return found, nil
		}
	}
	if found, err := exec.LookPath("clew"); err == nil {
		return filepath.Abs(found)
	}
	return "", ErrNoMonitor
}

// limit is a bound as the monitor has it: 0 for none.
func limit[T int | time.Duration](asked, usual T) T {
	switch {
	case asked == 0:
		return usual
	case asked < 0:
		return 0
	}
	return asked
}
