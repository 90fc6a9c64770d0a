package listing

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/clewdbg/clew/internal/testkit"
)

// measurements are the parts of this command; each reads flags of its own and prints a
// table.
var measurements = map[string]func(folder string, args []string) error{
	"stripped": stripped, "cost": cost, "attach": attach, "profile": wallClock, "beside": beside, "pause": pause,
}

// errUsage marks wrong flags.
var errUsage = errors.New("wrong usage; see go doc ./integration/bench/listing")

// Main runs it as a program: its arguments are those of the process.
func Main() {
	err := errUsage
	if len(os.Args) > 1 && measurements[os.Args[1]] != nil {
		err = measure(measurements[os.Args[1]], os.Args[2:])
	}
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "listing:", err)
	if errors.Is(err, errUsage) || errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	os.Exit(1)
}

func measure(f func(string, []string) error, args []string) error {
	folder, err := os.MkdirTemp("", "clew-listing-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if path := os.Getenv("CLEW"); path != "" { // on a machine without Go
		clewPath = path
	} else if err := buildClew(folder); err != nil {
		return err
	}
	return f(folder, args)
}

// clewPath is the built command.
var clewPath string

func buildClew(folder string) error {
	clewPath = filepath.Join(folder, "clew")
	return testkit.BuildClew(clewPath)
}
