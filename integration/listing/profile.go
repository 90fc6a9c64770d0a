package main

import (
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
)

// hotFunctions is how many the program has.
const hotFunctions = 10

// wallClock compares a wall-clock profile with what the program counted itself.
func wallClock(folder string, args []string) error {
	fl := flag.NewFlagSet("profile", flag.ContinueOnError)
	seconds := fl.Float64("seconds", 30, "how long to look")
	interval := fl.Duration("interval", 10*time.Millisecond, "the time between listings")
	if err := fl.Parse(args); err != nil || fl.NArg() > 0 {
		return errUsage
	}
	shares, err := compareProfile(folder, time.Duration(*seconds*float64(time.Second)), *interval)
	if err != nil {
		return err
	}
	var samples, most float64
	for _, s := range shares {
		samples += s.samples
	}
	fmt.Printf("%.0f samples\n\n| function | the program's own count | clew | difference | standard error | perf |\n|---|---|---|---|---|---|\n", samples)
	for i, s := range shares {
		relative, expected := s.seen/s.own-1, math.Sqrt((1-s.own)/(s.own*samples))
		fmt.Printf("| hot_%d | %.2f %% | %.2f %% | %+.1f %% | %.1f %% | %.2f %% |\n", i, 100*s.own, 100*s.seen, 100*relative, 100*expected, 100*s.perf)
		most = max(most, math.Abs(relative))
	}
	if most > mostRelative {
		return fmt.Errorf("a function's share is %.1f %% off", 100*most)
	}
	return nil
}

// mostRelative is how far a function's share may be off, as a part of it.
const mostRelative = 0.05

func mostApart(shares [hotFunctions]share) (most float64) {
	for _, s := range shares {
		most = max(most, math.Abs(s.seen-s.own))
	}
	return most
}

// share is a function's part of the time: by the program itself, by clew's profile, and by
// perf, 0 without a profile of perf's; and in how many samples of clew's it is.
type share struct{ own, seen, perf, samples float64 }

func compareProfile(folder string, long, interval time.Duration) (out [hotFunctions]share, err error) {
	program, file := filepath.Join(folder, "hot"), filepath.Join(folder, "wall.pb.gz")
	if err := output(exec.Command("go", "build", "-o", program, "github.com/clewdbg/clew/integration/listing/testdata/hot")); err != nil {
		return out, err
	}
	w, err := watchProgram(program, filepath.Join(folder, "spent"))
	if err != nil {
		return out, err
	}
	defer end(w.cmd)
	before, err := w.spent()
	if err != nil {
		return out, err
	}
	pid, count := strconv.Itoa(w.cmd.Process.Pid), int(long/interval)
	perf := exec.Command("perf", "record", "-q", "-e", "cpu-clock", "-F", "199", "-p", pid, "-o", filepath.Join(folder, "perf.data"), "--", "sleep", fmt.Sprint(long.Seconds()))
	perfErr := perf.Start()
	c := exec.Command(clewPath, "stack", "--pid", pid, "--count", strconv.Itoa(count), "--interval", interval.String(),
		"--format", "pprof", "-o", file)
	if err := output(c); err != nil {
		return out, err
	}
	now, err := w.spent()
	if err != nil {
		return out, err
	}
	seen, samples, err := hotTimes(file)
	if err != nil {
		return out, err
	}
	var sampled [hotFunctions]float64
	if perfErr == nil && perf.Wait() == nil {
		sampled = perfTimes(filepath.Join(folder, "perf.data"))
	}
	for i := range out {
		out[i] = share{float64(now[i] - before[i]), seen[i], sampled[i], samples[i]}
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
		out[i] = share{s.own / sum.own, s.seen / sum.seen, s.perf / max(sum.perf, 1e-9), s.samples}
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

// spent reads what the program has counted.
func (w *watched) spent() (out [hotFunctions]int64, err error) {
	var data [8 * hotFunctions]byte
	if _, err := w.clock.ReadAt(data[:], 0); err != nil {
		return out, err
	}
	for i := range out {
		out[i] = int64(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return out, nil
}

// hotTimes sums the time and the samples of each function in a profile.
func hotTimes(path string) (out, samples [hotFunctions]float64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return out, samples, err
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		return out, samples, err
	}
	for _, s := range p.Sample {
		for _, l := range s.Location {
			for _, line := range l.Line {
				if n, ok := strings.CutPrefix(line.Function.Name, "hot_"); ok {
					if i, err := strconv.Atoi(n); err == nil && i < hotFunctions {
						samples[i] += float64(s.Value[0])
						out[i] += float64(s.Value[1])
					}
				}
			}
		}
	}
	return out, samples, nil
}
