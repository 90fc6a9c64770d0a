package steps

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
)

// Main runs it as a program: its arguments are those of the process.
func Main() {
	every := flag.Int("every", 1, "compare at every n-th instruction of C")
	run := flag.String("run", "", "only the build of this name")
	list := flag.String("strategies", "", "only these, with commas between: \"scan\"")
	all := flag.Bool("whole", false, "step through all of main, loading and resolving included")
	flag.Parse()
	if flag.NArg() > 0 || *every < 1 {
		flag.Usage()
		os.Exit(2)
	}
	var only []string
	if *list != "" {
		only = strings.Split(*list, ",")
	}
	ok, err := report(*every, *run, *all, only...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "steps:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func report(every int, build string, all bool, strategies ...string) (ok bool, err error) {
	dir, err := os.MkdirTemp("", "clew-steps-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	list := scenarios
	if all {
		list = []scenario{whole}
	}
	fmt.Println("build | scenario | instructions | stacks | right | truncated | wrong above scan | wrong by scan | recorded | other ways")
	ok = true
	with, err := tools()
	if err != nil {
		return false, err
	}
	for _, b := range builds {
		if build != "" && build != b.Name {
			continue
		}
		p, err := b.Build(dir, with)
		if err != nil {
			return false, err
		}
		for _, sc := range list {
			y, seen, err := stepThrough(p, sc, every, strategies...)
			if err != nil {
				return false, fmt.Errorf("%s, %s: %w", b.Name, sc.name, err)
			}
			above, scan := y.wrongFrames()
			fmt.Printf("%s | %s | %d | %d | %.3f %% | %d | %d | %d | %d | %d\n", b.Name, sc.name, seen, y.compared,
				100*float64(y.right)/float64(y.compared), y.truncated, above, scan, y.checked, y.ways)
			for _, k := range y.sorted() {
				fmt.Printf("    %6d x %s\n", y.reasons[k].n, y.reasons[k].first)
			}
			ok = ok && good(b, y)
		}
	}
	return ok, nil
}

// builds are those whose stacks must be right at every instruction, and two with
// neither tables nor frame pointers, whose stacks must not be wrong.
var builds = []program.Variant{
	{Name: "static-O2-eh_frame", CFlags: "-O2 -g0 -fomit-frame-pointer"},
	{Name: "static-O1-g", CFlags: "-O1 -g"},
	{Name: "linked-O2-eh_frame-stripped", CFlags: "-O2 -g0 -fomit-frame-pointer", Linkage: program.Linked, Stripped: true},
	{Name: "opened-O2-eh_frame-stripped", CFlags: "-O2 -g0 -fomit-frame-pointer", Linkage: program.Opened, Stripped: true},
	{Name: "static-O2-fp-notables", CFlags: "-O2 -g0 -fno-omit-frame-pointer " + program.NoTables},
	{Name: "linked-O2-fp-notables-stripped", CFlags: "-O2 -g0 -fno-omit-frame-pointer " + program.NoTables, Linkage: program.Linked, Stripped: true},
	{Name: "static-O2-nothing", CFlags: "-O2 -g0 -fomit-frame-pointer " + program.NoTables, Undescribed: true},
	{Name: "linked-O2-nothing-stripped", CFlags: "-O2 -g0 -fomit-frame-pointer " + program.NoTables, Linkage: program.Linked, Stripped: true, Undescribed: true},
}

func tools() (t program.Tools, err error) {
	if t.CC, err = testneed.Compiler.Find(); err != nil {
		return t, err
	}
	t.Strip, err = exec.LookPath("strip")
	return t, err
}

// good says whether the stacks are as right as they must be: where there are
// neither tables nor frame pointers they may end early.
func good(b program.Variant, y *tally) bool {
	above, _ := y.wrongFrames()
	return y.compared > 0 && above == 0 && (b.Undescribed || (y.compared-y.right)*1000 <= y.compared)
}

// tries is how often a run that got stuck is tried.
const tries = 3

// stepThrough runs one scenario.
func stepThrough(p program.Program, sc scenario, every int, strategies ...string) (y *tally, seen int, err error) {
	dir, err := os.MkdirTemp("", "clew-steps-")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(dir)
	for try := 1; ; try++ {
		t, err := launch(p, sc, dir, strategies...)
		if err != nil {
			return nil, 0, err
		}
		t.tally, t.every = &tally{}, every
		err = t.run()
		t.close()
		if !errors.Is(err, errStuck) || try == tries {
			return t.tally, t.seen, err
		}
	}
}
