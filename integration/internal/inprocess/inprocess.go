// Package inprocess holds programs under Delve in the process of a test or a
// measurement, with the strategies that clew has built in, so that many thousand
// stacks can be assembled of one stop.
package inprocess

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/plugins/compactunwind"
	"github.com/clewdbg/clew/plugins/dwarfcfi"
	"github.com/clewdbg/clew/plugins/fpwalk"
	"github.com/clewdbg/clew/plugins/scan"
	"github.com/clewdbg/clew/plugins/sframe"
	"github.com/clewdbg/clew/server/delve"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/unwind"
)

// Strategies are the built-in ones, best ranked first; only those of the names, if
// there are any.
func Strategies(only ...string) []engine.Named {
	all := []engine.Named{
		{Name: unwind.StrategyDWARF, Unwinder: dwarfcfi.New()},
		{Name: unwind.StrategySFrame, Unwinder: sframe.New()},
		{Name: unwind.StrategyCompact, Unwinder: compactunwind.New()},
		{Name: unwind.StrategyFP, Unwinder: fpwalk.New()},
		{Name: unwind.StrategyScan, Unwinder: scan.New()},
	}
	if len(only) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(n engine.Named) bool { return !slices.Contains(only, n.Name) })
}

// Launch starts the program, without output, to do a scenario and to stop in a
// way; its records go to the folder dir, with names that begin with stem.
func Launch(p program.Program, scenario, stop, dir string) (session *delve.Session, stem string, err error) {
	// What another thread or the garbage collector does to a goroutine would only
	// be in the way: these are ordinary settings of Go's runtime.
	for name, value := range map[string]string{"NATIVE_LIBRARY": p.Library, "GODEBUG": "asyncpreemptoff=1", "GOGC": "off"} {
		if err := os.Setenv(name, value); err != nil {
			return nil, "", err
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, "", err
	}
	stem = filepath.Join(dir, "record")
	session, err = delve.Launch(delve.LaunchConfig{Args: []string{p.Path, scenario, stop, stem}, NoStdin: true, Stdout: null, Stderr: null})
	return session, stem, err
}
