package listing

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

	"github.com/clewdbg/clew/internal/testkit"
)

// crowdSize is how many goroutines a program has, and how many of them are in C.
type crowdSize struct{ goroutines, inC int }

// cost measures what a listing costs, and for how long the process stands still.
func cost(folder string, args []string) error {
	fl := flag.NewFlagSet("cost", flag.ContinueOnError)
	only := fl.Int("n", 0, "this many goroutines alone")
	tools := fl.String("tools", "clew,dlv,eu-stack,gdb", "measure these")
	if err := fl.Parse(args); err != nil || fl.NArg() > 0 {
		return errUsage
	}
	program, dlv := filepath.Join(folder, "many"), filepath.Join(folder, "dlv")
	for path, pkg := range map[string]string{program: "many", dlv: "../../../internal/dlv"} {
		if err := testkit.Go("build", "-o", path, filepath.Join("github.com/clewdbg/clew/integration/bench/listing/testdata", pkg)); err != nil {
			return err
		}
	}
	fmt.Println("| goroutines, in C | tool | time | against dlv | stood still | dlv's is longer | memory | output |\n|---|---|---|---|---|---|---|---|")
	for _, size := range []crowdSize{{100, 50}, {10_000, 50}, {100_000, 500}} {
		if *only != 0 && *only != size.goroutines {
			continue
		}
		if err := costOf(folder, program, dlv, size, strings.Split(*tools, ",")); err != nil {
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

// costOf prints a row for each tool. dlv comes first: the others are compared with it.
func costOf(folder, program, dlv string, size crowdSize, tools []string) error {
	w, err := watchProgram(program, filepath.Join(folder, "clock"), strconv.Itoa(size.goroutines), strconv.Itoa(size.inC))
	if err != nil {
		return err
	}
	defer end(w.cmd)
	pid := strconv.Itoa(w.cmd.Process.Pid)
	p := &prices{size: size, folder: folder, w: w}
	ask := exec.Command(dlv, "attach", pid, "--check-go-version=false", "--allow-non-terminal-interactive=true")
	ask.Stdin = strings.NewReader("goroutines -t\nexit\nn\n")
	for _, m := range []struct {
		tool string
		do   func() error
	}{
		{"", func() error { return p.row("none", exec.Command("sleep", "1"), 1, 0) }},
		{"dlv", func() error { return p.row("dlv, goroutines -t", ask, 1, 0) }},
		{"clew", func() error { return p.clew(pid) }},
		{"eu-stack", func() error {
			return p.row("eu-stack, threads", exec.Command("eu-stack", "-p", pid), 1, truncatedByPeer)
		}},
		{"gdb", func() error {
			return p.row("gdb, threads", exec.Command("gdb", "-p", pid, "-batch", "-ex", "thread apply all bt"), 1, 0)
		}},
	} {
		if m.tool != "" && !slices.Contains(tools, m.tool) {
			continue
		}
		if err := m.do(); err != nil {
			return err
		}
	}
	return nil
}

// prices prints what tools take.
type prices struct {
	size   crowdSize
	folder string
	w      *watched
	dlv    spent // zero where it was not measured
}

// clew measures each format.
func (p *prices) clew(pid string) error {
	rounds := 3
	for _, format := range []string{"text", "json", "cbf", "swift", "pprof", "otlp"} {
		c := exec.Command(clewPath, "stack", "--pid", pid, "--format", format, "-o", filepath.Join(p.folder, "out."+format))
		if err := p.row("clew "+format, c, rounds, truncatedByClew); err != nil {
			return err
		}
		rounds = 1
	}
	return nil
}

func (p *prices) row(tool string, c *exec.Cmd, rounds, truncated int) error {
	s, err := p.w.run(c, rounds, truncated)
	if err != nil {
		return err
	}
	if format, ok := strings.CutPrefix(tool, "clew "); ok {
		s.output = sizeOf(filepath.Join(p.folder, "out."+format))
	}
	if strings.HasPrefix(tool, "dlv") {
		p.dlv = s
	}
	against, longer := "", ""
	if p.dlv.time > 0 {
		against, longer = fmt.Sprintf("%.3f x", float64(s.time)/float64(p.dlv.time)), fmt.Sprintf("%.0f x", float64(p.dlv.still)/float64(s.still))
	}
	fmt.Printf("| %d, %d | %s | %.2f s | %s | %.1f ms | %s | %d MB | %s |\n", p.size.goroutines, p.size.inC, tool, s.time.Seconds(), against,
		float64(s.still)/1e6, longer, s.memory>>20, kilobytes(s.output))
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
