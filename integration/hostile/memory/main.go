package memory

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/unwind"
)

// Main runs it as a program: its arguments are those of the process.
func Main() {
	trials := flag.Int("trials", 2500, "how often each of four stacks of a build is overwritten")
	seed := flag.Uint64("seed", 1, "of the random numbers")
	part := flag.String("part", "", "overwritten, shapes or deep; all if not given")
	flag.Parse()
	parts := map[string]func() error{
		"overwritten": func() error { return overwritten(*trials, *seed) },
		"shapes":      allShapes,
		"deep":        func() error { return allDeep(1_000_000) },
	}
	for _, name := range []string{"overwritten", "shapes", "deep"} {
		if *part != "" && *part != name {
			continue
		}
		if err := parts[name](); err != nil {
			fmt.Fprintf(os.Stderr, "hostile: %s: %v\n", name, err)
			os.Exit(1)
		}
	}
}

// builds are those whose stacks are overwritten.
var builds = []program.Variant{
	{Name: "static-O2-eh_frame", CFlags: "-O2 -g0 -fomit-frame-pointer"},
	{Name: "linked-O2-eh_frame-stripped", CFlags: "-O2 -g0 -fomit-frame-pointer", Linkage: program.Linked, Stripped: true},
	{Name: "static-O2-fp-notables", CFlags: "-O2 -g0 -fno-omit-frame-pointer " + program.NoTables},
	{Name: "linked-O2-fp-notables-stripped", CFlags: "-O2 -g0 -fno-omit-frame-pointer " + program.NoTables, Linkage: program.Linked, Stripped: true},
}

func tools() (t program.Tools, err error) {
	if t.CC, err = testneed.Compiler.Find(); err != nil {
		return t, err
	}
	t.Strip, err = exec.LookPath("strip")
	return t, err
}

// onTarget builds a program, stops it and lets use have it.
func onTarget(b program.Variant, scenario string, use func(*target) error) error {
	dir, err := os.MkdirTemp("", "clew-hostile-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	with, err := tools()
	if err != nil {
		return err
	}
	p, err := b.Build(dir, with)
	if err != nil {
		return err
	}
	t, err := stop(p, scenario, dir)
	if err != nil {
		return fmt.Errorf("%s, %s: %w", b.Name, scenario, err)
	}
	defer t.Close()
	return use(t)
}

// accepted is the share of wrong frames that is accepted among those with more
// trust than a scan's, of stacks that were overwritten with values that are likely to be
// believed, and with random bits.
var accepted = map[bool]float64{true: 0.005, false: 0.0001}

func overwritten(trials int, seed uint64) error {
	fmt.Println("build | stop | written | trials | complete | truncated | said complete, and not | wrong by scan | wrong above scan | share | trials with one")
	broken := ""
	for _, b := range builds {
		for _, scenario := range []string{"nested", "callback"} {
			err := onTarget(b, scenario, func(t *target) error {
				for _, plausible := range []bool{false, true} {
					res := t.corrupt(rand.New(rand.NewPCG(seed, 0)), trials, plausible)
					res.print(b.Name, scenario, plausible)
					if share, _, _ := res.rate(); share > accepted[plausible] {
						broken = fmt.Sprintf("%s, %s: %.4f %% of the frames are wrong", b.Name, scenario, 100*share)
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	if broken != "" {
		return fmt.Errorf("%s", broken)
	}
	return nil
}

func (res *results) print(build, scenario string, plausible bool) {
	written := map[bool]string{false: "random bits", true: "plausible words"}[plausible]
	share, wrong, frames := res.rate()
	fmt.Printf("%s | %s | %s | %d | %d | %d | %d | %d of %d | %d of %d | %.3f %% | %d\n", build, scenario, written,
		res.trials, res.complete, res.truncated, res.falseEnd, res.wrong[unwind.TrustScan], res.frames[unwind.TrustScan],
		wrong, frames, 100*share, res.above)
	for _, k := range res.sorted() {
		fmt.Printf("    %5d x %s (%s)\n", res.causes[k].n, k, res.causes[k].first)
	}
}

func allShapes() error {
	fmt.Println("build | stack | frames | wrong above scan | stop | reason")
	broken := 0
	for _, b := range builds {
		err := onTarget(b, "nested", func(t *target) error {
			for _, s := range t.shapes() {
				w := t.walk(s)
				fmt.Printf("%s | %s | %d | %d | %s | %.100s\n", b.Name, s.name, len(w.stack.Frames), w.wrong, w.stack.Stop, w.stack.Reason)
				if w.problem != "" {
					fmt.Printf("    PROBLEM: %s\n", w.problem)
					broken++
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if broken > 0 {
		return fmt.Errorf("%d stacks break what must hold of every stack", broken)
	}
	return nil
}

// Bounds of a stack of a million calls against one of a thousand, generous to
// busy machines: a page may take so many times as long, and a second more; memory
// may grow by so many times, which frames that were held would exceed by far.
const (
	pageTimes  = 4
	cbfMemory  = 8
	pageMemory = 3
)

func allDeep(depth int) error {
	if err := raiseStackLimit(); err != nil {
		return fmt.Errorf("limit of the stack's size: %w", err)
	}
	dir, err := os.MkdirTemp("", "clew-hostile-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	clew, exe, err := deepPrograms(dir)
	if err != nil {
		return err
	}
	fmt.Println("calls of | depth | asked for | time | against 1,000 calls | memory of clew and plugins | against 1,000 calls")
	for _, language := range []string{"c", "go"} {
		for _, format := range []string{"page", "cbf"} {
			small, err := deep(clew, exe, language, 1000, format)
			if err != nil {
				return err
			}
			large, err := deep(clew, exe, language, depth, format)
			if err != nil {
				return err
			}
			fmt.Printf("%s | %d | %s | %.2f s | %.1f x | %d MB | %.1f x\n", language, depth, format, large.took.Seconds(),
				large.took.Seconds()/small.took.Seconds(), large.memory>>20, float64(large.memory)/float64(small.memory))
			if err := large.judge(&small); err != nil {
				return fmt.Errorf("%s, %s: %w", language, format, err)
			}
		}
	}
	return nil
}

// judge lists the faults of a run, compared with one of a shallow stack.
func (r *deepRun) judge(small *deepRun) error {
	want, times := r.depth, int64(cbfMemory)
	if r.format != "cbf" {
		want, times = 19, pageMemory
		if most := pageTimes*small.took.Seconds() + 1; r.took.Seconds() > most {
			return fmt.Errorf("a page takes %.2f s, more than %.2f s", r.took.Seconds(), most)
		}
	}
	if r.calls != want {
		return fmt.Errorf("%d calls found, not %d", r.calls, want)
	}
	if small.memory == 0 || r.memory > times*small.memory {
		return fmt.Errorf("%d MB of memory, with a shallow stack %d MB", r.memory>>20, small.memory>>20)
	}
	return nil
}
