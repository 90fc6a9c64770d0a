package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == between {
		os.Exit(runBetween(os.Args[2:]))
	}
	err := measure(os.Args[1:])
	switch {
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutated:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("wrong usage; see go doc ./integration/mutated")

// clewPath is the built command.
var clewPath string

func measure(args []string) error {
	fl := flag.NewFlagSet("mutated", flag.ContinueOnError)
	long := fl.Duration("time", 10*time.Minute, "processor time of the commands")
	seed := fl.Uint64("seed", 1, "of the random numbers")
	only := fl.String("only", "", "kinds whose names contain one of these, separated by commas")
	workers := fl.Int("workers", 1, "commands at once")
	keep := fl.String("keep", "mutated-failures", "folder for inputs that fail")
	if err := fl.Parse(args); err != nil || fl.NArg() > 0 || *workers < 1 {
		return errors.Join(errUsage, err)
	}
	folder, err := os.MkdirTemp("", "clew-mutated-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	clewPath = filepath.Join(folder, "clew")
	if out, err := exec.Command("go", "build", "-o", clewPath, "github.com/clewdbg/clew/cmd/clew").CombinedOutput(); err != nil {
		return fmt.Errorf("build clew: %w\n%s", err, out)
	}
	p, err := prepare(folder)
	if err != nil {
		return err
	}
	kinds := slices.DeleteFunc(p.kinds(), func(k kind) bool {
		return !slices.ContainsFunc(strings.Split(*only, ","), func(part string) bool { return strings.Contains(k.name, part) })
	})
	if len(kinds) == 0 {
		return errUsage
	}
	c := &campaign{kinds: kinds, results: make([]result, len(kinds)), until: *long, keep: *keep}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		c.end()
	}()
	c.run(folder, *seed, *workers)
	c.print()
	if c.failed > 0 {
		return fmt.Errorf("%d runs failed; their inputs are in %s", c.failed, *keep)
	}
	return nil
}

// result is what the runs of a kind took.
type result struct {
	runs, refused int // refused: the command ended with 1 or 2
	memory        int64
	processor     time.Duration // of all runs
	longest       time.Duration
	failures      int
}

// campaign runs kinds in turn until their processor time is spent.
type campaign struct {
	kinds []kind
	keep  string
	until time.Duration

	mu      sync.Mutex
	results []result
	spent   time.Duration
	failed  int
}

func (c *campaign) run(folder string, seed uint64, workers int) {
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(w)))
			own := filepath.Join(folder, fmt.Sprint("worker", w))
			for c.more() {
				i := c.next(rng)
				if err := os.MkdirAll(own, 0o755); err != nil {
					panic(err) // the temporary folder is gone
				}
				k := c.kinds[i]
				in := k.inputs[rng.IntN(len(k.inputs))]
				damaged := in.damage(rng, k.inputs[rng.IntN(len(k.inputs))].data)
				c.count(i, in, damaged, k.run(own, in, damaged))
				_ = os.RemoveAll(own)
			}
		})
	}
	group.Wait()
}

func (c *campaign) more() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spent < c.until
}

// end ends the campaign early.
func (c *campaign) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = 0
}

// next picks the kind that has had the least time, now and then another.
func (c *campaign) next(rng *rand.Rand) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	least := rng.IntN(len(c.kinds))
	for i := range c.results {
		if c.results[i].processor < c.results[least].processor {
			least = i
		}
	}
	return least
}

// count adds a run, and keeps the input of one that failed.
func (c *campaign) count(i int, in input, damaged []byte, o outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &c.results[i]
	r.runs++
	if o.code == 1 || o.code == 2 {
		r.refused++
	}
	r.memory, r.longest = max(r.memory, o.memory), max(r.longest, o.processor)
	r.processor += o.processor
	c.spent += max(o.processor, time.Millisecond) // a command that cannot be started ends too
	if o.failure == "" {
		return
	}
	r.failures++
	c.failed++
	name := filepath.Join(c.keep, fmt.Sprintf("%d-%s", c.failed, in.name))
	report := fmt.Sprintf("%s: %s\n%s\n", c.kinds[i].name, o.failure, o.output)
	err := os.MkdirAll(c.keep, 0o755)
	if err == nil {
		err = errors.Join(os.WriteFile(name, damaged, 0o600), os.WriteFile(name+".txt", []byte(report), 0o600))
	}
	fmt.Fprintf(os.Stderr, "%s: %s, kept as %s %v\n", c.kinds[i].name, o.failure, name, err)
}

func (c *campaign) print() {
	fmt.Println("| input to | runs | refused | processor time | most memory | longest, processor time | failures |\n|---|---|---|---|---|---|---|")
	var sum result
	for i, r := range c.results {
		fmt.Printf("| %s ", c.kinds[i].name)
		r.print()
		sum.runs += r.runs
		sum.refused += r.refused
		sum.processor += r.processor
		sum.failures += r.failures
		sum.memory, sum.longest = max(sum.memory, r.memory), max(sum.longest, r.longest)
	}
	fmt.Print("| all ")
	sum.print()
}

func (r result) print() {
	fmt.Printf("| %d | %d | %s | %d MiB | %.2f s | %d |\n", r.runs, r.refused, r.processor.Round(time.Second), r.memory>>20, r.longest.Seconds(), r.failures)
}
