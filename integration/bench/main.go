// Command bench measures clew beside its peers, in one run on one machine, and
// prints the table of BENCHMARKS.md:
//
//	go run ./integration/bench [-rounds N] [-only PART] [-beside EXECUTABLE] [-cpuprofile FILE]
//
// Every figure is the median of several rounds in which the things compared
// take turns: some minutes in all. Ratios of one run can be compared with those of another; the
// absolute figures cannot, and are there to show the parts of a ratio.
//
// It needs linux/amd64, a C compiler, and leave to trace a process. The exit
// status is 0 when everything was measured, 1 when something failed, 2 for wrong
// usage.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"

	"github.com/clewdbg/clew/integration/bench/listing"
	"github.com/clewdbg/clew/integration/internal/suite"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/plugins/dwarfcfi"
	"github.com/clewdbg/clew/plugins/fpwalk"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/plugin"
)

// strategies are the measured ones, as clew has them.
var strategies = map[string]func() unwind.Unwinder{
	unwind.StrategyDWARF: func() unwind.Unwinder { return dwarfcfi.New() },
	unwind.StrategyFP:    func() unwind.Unwinder { return fpwalk.New() },
}

func main() {
	// The plugin host starts this program again to serve a built-in plugin.
	if len(os.Args) == 3 && os.Args[1] == "plugin" && strategies[os.Args[2]] != nil {
		plugin.Serve(strategies[os.Args[2]]())
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "listing" {
		suite.Run(map[string]func(){"listing": listing.Main})
		return
	}
	rounds := flag.Int("rounds", 15, "rounds of each measurement")
	only := flag.String("only", "", "measure this part alone: codec, walks, rules, compact, stacks, dap, start, waits, memory, unwind, goroutines or lookups")
	beside := flag.String("beside", "", "measure this build of clew as a server of editors too")
	profile := flag.String("cpuprofile", "", "write a profile of this process, for go tool pprof")
	flag.Parse()
	if flag.NArg() > 0 || *rounds < 1 {
		fmt.Fprintln(os.Stderr, "bench: wrong usage; see go doc ./integration/bench")
		os.Exit(2)
	}
	if err := run(table{rounds: *rounds, beside: *beside}, *only, *profile); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// part is one table, or several.
type part struct {
	name    string
	measure func(t *table, program string) error
}

var parts = []part{
	{"codec", func(t *table, _ string) error { return codec(t) }},
	{"walks", func(t *table, _ string) error { return walks(t) }},
	{"rules", func(t *table, _ string) error { return rules(t) }},
	{"compact", func(t *table, _ string) error { return compact(t) }},
	{"stacks", wholeStacks},
	{"dap", stackRequests},
	{"start", starts},
	{"waits", waits},
	{"memory", memoryOfServers},
	{"unwind", streamed},
	{"goroutines", goroutines},
	{"lookups", lookups},
}

func run(empty table, only, profile string) error {
	folder, err := os.MkdirTemp("", "clew-b-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	program, err := build(folder)
	if err != nil {
		return err
	}
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	fmt.Printf("%s, %s/%s, %d processors\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	measured := 0
	for _, p := range parts {
		if only != "" && only != p.name {
			continue
		}
		t := empty
		if err := p.measure(&t, program); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		empty.built = t.built
		t.print(os.Stdout)
		measured++
	}
	if measured == 0 {
		return fmt.Errorf("there is no part %q", only)
	}
	return nil
}

// build builds the program that is stopped: recursion in C under Go, and as many
// goroutines as one likes.
func build(folder string) (string, error) {
	cc, err := testneed.Compiler.Find()
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "patient")
	cmd := exec.Command("go", "build", "-o", path, "github.com/clewdbg/clew/integration/hostile/faults/testdata/patient")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "CC="+cc)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return path, nil
}
