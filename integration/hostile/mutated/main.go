package mutated

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
)

// Main runs it as a program: its arguments are those of the process.
func Main() {
	err := measure(os.Args[1:])
	switch {
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutated:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("wrong usage; see go doc ./integration/hostile/mutated")

// clewPath is the built command.
var clewPath string

func measure(args []string) error {
	fl := flag.NewFlagSet("mutated", flag.ContinueOnError)
	long := fl.Duration("time", 10*time.Minute, "processor time of the commands")
	seed := fl.Uint64("seed", 1, "of the random numbers")
	only := fl.String("only", "", "kinds whose names contain one of these, separated by commas")
	workers := fl.Int("workers", 1, "commands at once")
	keep := fl.String("keep", "mutated-failures", "folder for inputs that fail")
	add := fl.String("add", "", "file with the totals of earlier runs, to which this one is added")
	if err := fl.Parse(args); err != nil || fl.NArg() > 0 || *workers < 1 {
		return errors.Join(errUsage, err)
	}
	folder, err := os.MkdirTemp("", "clew-mutated-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	clewPath = filepath.Join(folder, "clew")
	built := commit() // of the tree as it is now, not when the campaign ends
	if err := testkit.BuildClew(clewPath); err != nil {
		return err
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
	before, err := readTotals(*add)
	if err != nil {
		return err
	}
	c := &campaign{kinds: kinds, results: make([]result, len(kinds)), until: *long, keep: *keep, before: before, commit: built}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		c.end()
	}()
	c.run(folder, *seed, *workers)
	if err := c.save(); err != nil {
		return err
	}
	c.totals().print()
	if c.failed > 0 {
		return fmt.Errorf("%d runs failed; their inputs are in %s", c.failed, *keep)
	}
	return nil
}

// campaign runs kinds in turn until their processor time is spent.
type campaign struct {
	kinds  []kind
	keep   string
	until  time.Duration
	before totals
	commit string // of the clew that runs

	mu      sync.Mutex
	results []result
	waited  []time.Duration // for the runs of each kind
	saved   time.Time
	spent   time.Duration
	failed  int
}

func (c *campaign) run(folder string, seed uint64, workers int) {
	c.waited, c.saved = make([]time.Duration, len(c.kinds)), time.Now()
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
				begin := time.Now()
				c.count(i, in, damaged, k.run(own, in, damaged), begin)
				_ = os.RemoveAll(own)
			}
		})
	}
	group.Wait()
}

// more says that there is time left, or a kind that has not run yet.
func (c *campaign) more() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spent < c.until || c.until > 0 && slices.ContainsFunc(c.results, func(r result) bool { return r.Runs == 0 })
}

// end ends the campaign early.
func (c *campaign) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = 0
}

// next picks the kind that was waited for least, now and then another: some commands wait for their peers.
func (c *campaign) next(rng *rand.Rand) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	least := rng.IntN(len(c.kinds))
	for i := range c.waited {
		if c.waited[i] < c.waited[least] {
			least = i
		}
	}
	return least
}

// count adds a run, and keeps the input of one that failed.
func (c *campaign) count(i int, in input, damaged []byte, o outcome, begin time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waited[i] += time.Since(begin)
	r := &c.results[i]
	*r = r.plus(o.result())
	if time.Since(c.saved) > saveEvery {
		c.saved = time.Now()
		_ = c.save() // the end says what is wrong
	}
	c.spent += max(o.processor, time.Millisecond) // a command that cannot be started ends too
	if o.failure == "" {
		return
	}
	c.failed++
	name := filepath.Join(c.keep, fmt.Sprintf("%d-%s", c.failed, in.name))
	report := fmt.Sprintf("%s: %s\n%s\n", c.kinds[i].name, o.failure, o.output)
	err := os.MkdirAll(c.keep, 0o755)
	if err == nil {
		err = errors.Join(os.WriteFile(name, damaged, 0o600), os.WriteFile(name+".txt", []byte(report), 0o600))
	}
	fmt.Fprintf(os.Stderr, "%s: %s, kept as %s %v\n", c.kinds[i].name, o.failure, name, err)
}
