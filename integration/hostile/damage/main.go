package damage

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/clewdbg/clew/integration/internal/inprocess"
	"github.com/clewdbg/clew/integration/internal/program"
)

// Main runs it as a program: its arguments are those of the process.
func Main() {
	trials := flag.Int("trials", 1000, "how many tables are damaged in all")
	seed := flag.Uint64("seed", 1, "of the random numbers")
	table := flag.String("table", "", "only the tables of this section")
	verbose := flag.Bool("v", false, "show each stack that is not whole")
	flag.Parse()
	if err := run(*trials, *seed, *table, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "damage:", err)
		os.Exit(1)
	}
}

// scene is a program at a stop, one kind of its tables, and how many trials of a thousand
// it has.
type scene struct {
	build             program.Variant
	scenario, section string
	share             int
}

const omit = "-O2 -g0 -fomit-frame-pointer"

var scenes = []scene{
	{program.Variant{Name: "static-O2", CFlags: omit}, "nested", ".eh_frame", 200},
	{program.Variant{Name: "linked-O2-stripped", CFlags: omit, Linkage: program.Linked, Stripped: true}, "nested", ".eh_frame", 200},
	{program.Variant{Name: "linked-O2-fp", CFlags: "-O2 -g0 -fno-omit-frame-pointer", Linkage: program.Linked}, "callback", ".eh_frame", 100},
	{program.Variant{Name: "static-O0", CFlags: "-O0 -g0"}, "thread-calling", ".eh_frame", 100},
	{named("opened-O2-sframe-v2-stripped"), "nested", ".sframe", 100},
	{named("opened-O2-sframe-v3-stripped"), "nested", ".sframe", 100},
	{named("macho-O2-omit"), "nested", "__unwind_info", 150},
	{named("macho-O0-omit"), "nested", "__unwind_info", 50},
}

func named(name string) program.Variant {
	v, _ := program.Named(name)
	return v
}

func run(trials int, seed uint64, table string, verbose bool) error {
	fmt.Print("| build, stop | table | trials |")
	for _, k := range kinds {
		fmt.Printf(" %s |", k)
	}
	fmt.Println()
	falsely := 0
	for _, s := range scenes {
		if table != "" && s.section != table {
			continue
		}
		res, err := s.measure(seed, max(1, trials*s.share/1000), func(line string) {
			if verbose {
				fmt.Println("    " + line)
			}
		})
		if err != nil {
			return fmt.Errorf("%s, %s: %w", s.build.Name, s.scenario, err)
		}
		fmt.Printf("| %s, %s | `%s` | %d |", s.build.Name, s.scenario, s.section, res.trials())
		for _, k := range kinds {
			fmt.Printf(" %d |", res[k])
		}
		fmt.Println()
		falsely += res[wrong]
	}
	if falsely > 0 {
		return fmt.Errorf("%d stacks claim to be complete, and are not", falsely)
	}
	return nil
}

// measure builds a scene's program, stops it and damages its tables.
func (s scene) measure(seed uint64, trials int, show func(string)) (results, error) {
	dir, err := os.MkdirTemp("", "clew-damage-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	tools, err := s.build.Tools()
	if err != nil {
		return nil, err
	}
	p, err := s.build.Build(dir, tools)
	if err != nil {
		return nil, err
	}
	stopped, err := inprocess.Stop(p, s.scenario, dir)
	if err != nil {
		return nil, err
	}
	defer stopped.Close()
	return newSubject(stopped).run(rand.New(rand.NewPCG(seed, 0)), s.section, trials, show)
}
