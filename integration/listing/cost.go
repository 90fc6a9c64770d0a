package main

import (
	"bufio"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// crowdSize is how many goroutines a program has, and how many of them are in C.
type crowdSize struct{ goroutines, inC int }

// cost measures what a listing costs, and for how long the process stands still.
func cost(folder string, args []string) error {
	fl := flag.NewFlagSet("cost", flag.ContinueOnError)
	only := fl.Int("n", 0, "this many goroutines alone")
	peers := fl.Bool("peers", true, "measure dlv, gdb and eu-stack too")
	if err := fl.Parse(args); err != nil || fl.NArg() > 0 {
		return errUsage
	}
	program, dlv := filepath.Join(folder, "many"), filepath.Join(folder, "dlv")
	for path, pkg := range map[string]string{program: "many", dlv: "../../internal/dlv"} {
		if err := output(exec.Command("go", "build", "-o", path, filepath.Join("github.com/clewdbg/clew/integration/listing/testdata", pkg))); err != nil {
			return err
		}
	}
	fmt.Println("| goroutines, in C | tool | time | against dlv | stood still | dlv's is longer | memory | output |\n|---|---|---|---|---|---|---|---|")
	for _, size := range []crowdSize{{100, 50}, {10_000, 50}, {100_000, 500}} {
		if *only != 0 && *only != size.goroutines {
			continue
		}
		if err := costOf(folder, program, dlv, size, *peers); err != nil {
			return err
		}
	}
	return nil
}

// Exit codes of tools that are done, but for stacks without an end.
const (
	truncatedByPeer = 1 // eu-stack
	truncatedByClew = 3
)

// spent is what a tool took.
type spent struct {
	time, still time.Duration
	memory      int64 // bytes
	output      int64
}

func costOf(folder, program, dlv string, size crowdSize, peers bool) error {
	w, err := watchProgram(program, filepath.Join(folder, "clock"), strconv.Itoa(size.goroutines), strconv.Itoa(size.inC))
	if err != nil {
		return err
	}
	defer end(w.cmd)
	pid := strconv.Itoa(w.cmd.Process.Pid)
	base := spent{}
	if peers {
		c := exec.Command(dlv, "attach", pid, "--check-go-version=false", "--allow-non-terminal-interactive=true")
		c.Stdin = strings.NewReader("goroutines -t\nexit\nn\n")
		if base, err = w.run(c, 1, 0); err != nil {
			return err
		}
	}
	row := func(tool string, s spent) {
		against, longer := "", ""
		if base.time > 0 && tool != "none" {
			against, longer = fmt.Sprintf("%.3f x", float64(s.time)/float64(base.time)), fmt.Sprintf("%.0f x", float64(base.still)/float64(s.still))
		}
		fmt.Printf("| %d, %d | %s | %.2f s | %s | %.1f ms | %s | %d MB | %s |\n", size.goroutines, size.inC, tool, s.time.Seconds(), against,
			float64(s.still)/1e6, longer, s.memory>>20, kilobytes(s.output))
	}
	idle, err := w.run(exec.Command("sleep", "1"), 1, 0)
	if err != nil {
		return err
	}
	row("none", idle)
	rounds := 5
	if size.goroutines > 10_000 {
		rounds = 3
	}
	for _, format := range []string{"text", "json", "cbf", "swift", "pprof"} {
		s, err := w.run(exec.Command(clewPath, "stack", "--pid", pid, "--format", format, "-o", filepath.Join(folder, "out."+format)), rounds, truncatedByClew)
		if err != nil {
			return err
		}
		s.output = sizeOf(filepath.Join(folder, "out."+format))
		row("clew "+format, s)
		rounds = 1
	}
	if !peers {
		return nil
	}
	row("dlv, goroutines -t", base)
	for _, peer := range [][]string{{"eu-stack", "-p", pid}, {"gdb", "-p", pid, "-batch", "-ex", "thread apply all bt"}} {
		if s, err := w.run(exec.Command(peer[0], peer[1:]...), 1, truncatedByPeer); err == nil {
			row(peer[0]+", threads", s)
		} else {
			fmt.Fprintln(os.Stderr, "listing:", peer[0], err)
		}
	}
	return nil
}

func kilobytes(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d kB", (n+999)/1000)
}

// sizeOf is the size of a file, or of all in a folder.
func sizeOf(path string) (sum int64) {
	_ = filepath.Walk(path, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return nil
	})
	return sum
}

// watched is a program that measures for how long it stands still.
type watched struct {
	cmd   *exec.Cmd
	clock *os.File // the longest gap, in nanoseconds
}

// watchProgram starts it; it says when it is ready.
func watchProgram(program, clock string, args ...string) (*watched, error) {
	if err := os.WriteFile(clock, make([]byte, 4096), 0o644); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(clock, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	w := &watched{cmd: exec.Command(program, append(args, clock)...), clock: f}
	w.cmd.Stderr = os.Stderr
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	ready, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		end(w.cmd)
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	if !strings.HasSuffix(ready, "true\n") {
		fmt.Fprintln(os.Stderr, "listing: without root the program's clock is not exact")
	}
	return w, nil
}

// run runs a tool some times, and returns the median of each figure. It ends with 0, or
// with truncated.
func (w *watched) run(c *exec.Cmd, rounds, truncated int) (spent, error) {
	var times, still []time.Duration
	var s spent
	for i := range rounds {
		again := exec.Command(c.Path, c.Args[1:]...)
		again.Stdin = c.Stdin
		var out counter
		again.Stdout, again.Stderr = &out, &out
		if i > 0 {
			time.Sleep(200 * time.Millisecond)
		}
		if _, err := w.clock.WriteAt(make([]byte, 8), 0); err != nil {
			return s, err
		}
		start := time.Now()
		err := again.Run()
		times = append(times, time.Since(start))
		if err != nil && again.ProcessState.ExitCode() != truncated {
			return s, fmt.Errorf("%s: %w\n%s", filepath.Base(c.Path), err, out.last)
		}
		time.Sleep(100 * time.Millisecond) // its own thread looks at the clock again
		var gap [8]byte
		if _, err := w.clock.ReadAt(gap[:], 0); err != nil {
			return s, err
		}
		still = append(still, time.Duration(binary.LittleEndian.Uint64(gap[:])))
		if usage, ok := again.ProcessState.SysUsage().(*syscall.Rusage); ok {
			s.memory = max(s.memory, usage.Maxrss<<10)
		}
		s.output = out.n
	}
	slices.Sort(times)
	slices.Sort(still)
	s.time, s.still = times[len(times)/2], still[len(still)/2]
	return s, nil
}

// counter counts what is written to it, and keeps the last of it.
type counter struct {
	n    int64
	last []byte
}

var _ io.Writer = (*counter)(nil)

// Write implements [io.Writer].
func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	c.last = append(c.last[:0], p[max(0, len(p)-500):]...)
	return len(p), nil
}
