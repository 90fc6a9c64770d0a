// Command check runs every test of the project:
//
//	go run ./integration/check [-short] [-install] [-setup] [-race=false] [package...]
//
// -short is for a first try: formats, strategies, rules, the command line and one live
// program, in some minutes. Time limits are scaled by the measured speed of
// the machine.
//
// It passes on a machine without root, network or a C compiler, and lists at its
// end the tests that it left out there, and why. With CI=true it installs its needs
// (Debian packages, as root), and leaving anything out is a failure, however the
// test was skipped.
//
// The exit status is 0 when every test that ran has passed, 1 when one failed
// or CI left one out, 2 for wrong usage.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// raced are the packages where goroutines share memory. The others would only
// take longer under the race detector.
var raced = []string{"./imagemap/...", "./unwind/...", "./plugins/...", "./server/..."}

// onOneGoroutine are tests in them that step whole programs, or compare whole builds with other tools, each on one goroutine: half of the
// time that all of raced takes, and nothing for the race detector to see.
const onOneGoroutine = "-skip=^(TestStep(ARM64)?|TestBuilds|TestDisassemble|TestArgumentsStored|TestEqualTo(LLVM|GDB)|TestManyUnits|TestAlternateFile)$"

// timeout ends a test binary that hangs; it is far above what any takes.
var timeout = sync.OnceValue(func() string { return fmt.Sprintf("-timeout=%v", testneed.Patience(25*time.Minute)) })

func main() {
	install := flag.Bool("install", testneed.InCI(), "install missing Debian packages first; needs root (default in CI)")
	setup := flag.Bool("setup", false, "install, and run no test")
	brief := flag.Bool("short", false, "test for some minutes: the formats, the strategies, one live program")
	race := flag.Bool("race", true, "test a second time with the race detector where goroutines share memory")
	flag.Parse()
	ok, err := run(options{install: *install || *setup, setup: *setup, short: *brief, race: *race, packages: flag.Args()})
	if err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

type options struct {
	install, setup, short, race bool
	packages                    []string // as go test takes them; none: all of the module
}

// run reports whether all tests passed and, in CI, none was left out.
func run(o options) (bool, error) {
	if err := toModuleRoot(); err != nil {
		return false, err
	}
	if missing := missingNeeds(); len(missing) > 0 && o.install {
		if err := installDebian(missing); err != nil {
			fmt.Fprintln(os.Stderr, "check: not installed:", err)
		}
	}
	for _, err := range missingNeeds() {
		fmt.Printf("check: %v\n", err.reason)
	}
	if o.setup {
		return true, nil
	}
	packages := o.packages
	if len(packages) == 0 {
		packages = []string{"./..."}
	}
	r := newReport(os.Stdout)
	if o.short {
		if err := errors.Join(announce(r, append(slices.Clone(short), livePackage), shortMinutes), testShort(r)); err != nil {
			return false, err
		}
		fmt.Println("check: the short form; without -short every test runs")
		return r.conclude(testneed.InCI()), nil
	}
	if err := announce(r, packages, wholeMinutes); err != nil {
		return false, err
	}
	if err := errors.Join(test(r, packages), again(r)); err != nil {
		return false, err
	}
	if o.race && len(o.packages) == 0 {
		if err := testWithRace(r); err != nil {
			return false, err
		}
	}
	return r.conclude(testneed.InCI()), nil
}

// toModuleRoot makes the patterns mean the same from any folder of the module.
func toModuleRoot() error {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("go env GOMOD: %w", err)
	}
	file := strings.TrimSpace(string(out))
	if file == "" || file == os.DevNull {
		return errors.New("no go.mod here: run it in clew's source tree")
	}
	return os.Chdir(filepath.Dir(file))
}

// testWithRace tests the raced packages a second time.
func testWithRace(r *report) error {
	cc, err := testneed.Compiler.Find()
	if err != nil {
		r.leaveOut("the race detector", err.Error())
		return nil
	}
	if os.Getenv("CC") == "" && filepath.Base(cc) != "gcc" {
		// The go command looks for gcc alone.
		if err := os.Setenv("CC", cc); err != nil {
			return err
		}
	}
	fmt.Println("with the race detector:")
	return errors.Join(test(r, raced, "-race", onOneGoroutine), again(r, "-race"))
}

// test runs go test with the arguments and passes its events to r. A failed
// test is r's to tell; the error is for a go test that could not be run.
func test(r *report, packages []string, args ...string) error {
	args = slices.Concat([]string{"test", "-json", timeout()}, args, packages)
	if testneed.InCI() {
		// A cached result of a test of live processes proves nothing.
		args = slices.Insert(args, 1, "-count=1")
	}
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	before := r.failed
	clear(r.failures)
	readErr := r.read(out)
	if readErr != nil {
		_, _ = io.Copy(io.Discard, out) // or go test would wait for a reader
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		r.broken = r.broken || r.failed == before
		err = nil
	}
	return errors.Join(readErr, err)
}
