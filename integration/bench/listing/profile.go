package listing

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/clewdbg/clew/internal/testkit"
)

// hotFunctions is how many the program has.
const hotFunctions = 10

// wallClock compares a wall-clock profile with what the program counted itself.
func wallClock(folder string, args []string) error {
	fl := flag.NewFlagSet("profile", flag.ContinueOnError)
	seconds := fl.Float64("seconds", 30, "how long to look")
	interval := fl.Duration("interval", time.Millisecond, "the mean time between listings, if they take no longer")
	parts := fl.Int("parts", 100, "how long the program's calls are: about as many times 0.5 to 4 ms")
	if err := fl.Parse(args); err != nil || fl.NArg() > 0 {
		return errUsage
	}
	shares, err := compareProfile(folder, time.Duration(*seconds*float64(time.Second)), *interval, *parts)
	if err != nil {
		return err
	}
	var most float64
	var samples, listings float64
	for _, s := range shares {
		samples += s.samples
	}
	listings = samples / hotThreads
	fmt.Printf("%.0f samples\n\n| function | calls | the program's own count | clew | difference | standard error | perf |\n|---|---|---|---|---|---|---|\n", samples)
	for i, s := range shares {
		relative := s.seen/s.own - 1
		fmt.Printf("| hot_%d | %d | %.2f %% | %.2f %% | %+.1f %% | %.1f %% | %.2f %% |\n", i, s.calls, 100*s.own, 100*s.seen, 100*relative, 100*s.standardError(listings), 100*s.perf)
		most = max(most, math.Abs(relative))
	}
	if most > mostRelative {
		return fmt.Errorf("a function's share is %.1f %% off", 100*most)
	}
	return nil
}

const (
	// mostRelative is how far a function's share may be off, as a part of it.
	mostRelative = 0.05
	// hotThreads are those that the program has in C.
	hotThreads = 2
)

// standardError is that of the share that even listings see, as a part of it. The error at
// each call is that of its ends: half of the time between listings, or, where calls are
// shorter than that, what independent samples have.
func (s *share) standardError(listings float64) float64 {
	time := s.own * hotThreads // as parts of the whole, like the following
	gap, call := 1/listings, time/float64(s.calls)
	return math.Sqrt(float64(s.calls)*min(call*gap, gap*gap/4)) / time
}

func mostApart(shares [hotFunctions]share) (most float64) {
	for _, s := range shares {
		most = max(most, math.Abs(s.seen-s.own))
	}
	return most
}

// share is a function's part of the time: by the program itself, by clew's profile, and by
// perf, 0 without a profile of perf's; in how many samples of clew's it is; how often it was called.
type share struct {
	own, seen, perf, samples float64
	calls                    int64
}

func compareProfile(folder string, long, interval time.Duration, calls int) (out [hotFunctions]share, err error) {
	program, file := filepath.Join(folder, "hot"), filepath.Join(folder, "wall.pb.gz")
	if err := testkit.Go("build", "-o", program, "github.com/clewdbg/clew/integration/bench/listing/testdata/hot"); err != nil {
		return out, err
	}
	w, err := watchProgram(program, filepath.Join(folder, "spent"), strconv.Itoa(calls))
	if err != nil {
		return out, err
	}
	defer end(w.cmd)
	counts := w.count()
	pid := strconv.Itoa(w.cmd.Process.Pid)
	perf := exec.Command("perf", "record", "-q", "-e", "cpu-clock", "-F", "199", "-p", pid, "-o", filepath.Join(folder, "perf.data"), "--", "sleep", fmt.Sprint(long.Seconds()))
	perfErr := perf.Start()
	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	c := exec.CommandContext(ctx, clewPath, "stack", "--pid", pid, "--count", strconv.Itoa(int(long/interval)), "--interval", interval.String(),
		"--format", "pprof", "-o", file)
	// Listings may take longer than the interval.
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	if err := testkit.Run(c); err != nil && ctx.Err() == nil {
		return out, err
	}
	now := counts()
	seen, err := readHot(file)
	if err != nil {
		return out, err
	}
	var sampled [hotFunctions]float64
	if perfErr == nil && perf.Wait() == nil {
		sampled = perfTimes(filepath.Join(folder, "perf.data"))
	}
	before, after := at(now, seen.from), at(now, seen.to)
	for i := range out {
		out[i] = share{own: float64(after.spent[i] - before.spent[i]), seen: seen.time[i], perf: sampled[i], samples: seen.samples[i], calls: max(after.calls[i]-before.calls[i], 1)}
	}
	return parts(out)
}

// parts makes parts of the whole of times.
func parts(in [hotFunctions]share) (out [hotFunctions]share, err error) {
	var sum share
	for _, s := range in {
		sum.own += s.own
		sum.seen += s.seen
		sum.perf += s.perf
	}
	if sum.seen == 0 || sum.own == 0 {
		return out, fmt.Errorf("no function is in the profile")
	}
	for i, s := range in {
		out[i] = share{s.own / sum.own, s.seen / sum.seen, s.perf / max(sum.perf, 1e-9), s.samples, s.calls}
	}
	return out, nil
}

// perfTimes sums what perf has sampled of each function.
func perfTimes(data string) (out [hotFunctions]float64) {
	text, err := exec.Command("perf", "report", "-i", data, "--stdio", "-q", "-F", "overhead,symbol").Output()
	if err != nil {
		return out
	}
	for line := range strings.Lines(string(text)) {
		var part float64
		var i int
		if n, _ := fmt.Sscanf(line, " %f%% [.] hot_%d", &part, &i); n == 2 && i < hotFunctions {
			out[i] += part
		}
	}
	return out
}

// counted is what the program has counted at some time.
type counted struct {
	when         time.Time
	spent, calls [hotFunctions]int64
}

// count reads what the program counts, again and again, until the list is asked for.
func (w *watched) count() (list func() []counted) {
	var all []counted
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			var data [2 * 8 * hotFunctions]byte
			c := counted{when: time.Now()}
			if _, err := w.clock.ReadAt(data[:], 0); err == nil {
				for i := range hotFunctions {
					c.spent[i] = int64(binary.LittleEndian.Uint64(data[8*i:]))
					c.calls[i] = int64(binary.LittleEndian.Uint64(data[8*(hotFunctions+i):]))
				}
				all = append(all, c)
			}
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() []counted {
		close(stop)
		<-done
		return all
	}
}

// at is the count that is next to a time.
func at(all []counted, when time.Time) (out counted) {
	for _, c := range all {
		if out.when.IsZero() || c.when.Sub(when).Abs() < out.when.Sub(when).Abs() {
			out = c
		}
	}
	return out
}

// profiled is what a profile says of the functions, and from when to when.
type profiled struct {
	from, to      time.Time
	time, samples [hotFunctions]float64
}

// readHot reads a profile.
func readHot(path string) (out profiled, err error) {
	f, err := os.Open(path)
	if err != nil {
		return out, err
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		return out, err
	}
	out.from = time.Unix(0, p.TimeNanos)
	out.to = out.from.Add(time.Duration(p.DurationNanos - p.Period))
	for _, s := range p.Sample {
		for _, l := range s.Location {
			for _, line := range l.Line {
				if n, ok := strings.CutPrefix(line.Function.Name, "hot_"); ok {
					if i, err := strconv.Atoi(n); err == nil && i < hotFunctions {
						out.samples[i] += float64(s.Value[0])
						out.time[i] += float64(s.Value[1])
					}
				}
			}
		}
	}
	return out, nil
}
