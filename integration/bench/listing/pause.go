package listing

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
)

// hardCases are processes that are hard to look at.
var hardCases = []struct {
	name    string
	program string
	args    []string
}{
	{"1,000,000 goroutines", "many", []string{"1000000", "50"}},
	{"5,000 threads in C", "many", []string{"5000", "4990"}},
	{"a thread in state D", "hard", []string{"sleep"}},
	{"threads that come and go", "hard", []string{"storm"}},
	{"a list of goroutines that lies", "hard", []string{"liar"}},
}

// pause measures for how long processes that are hard to look at stand still, by clew, dlv and gdb.
func pause(folder string, args []string) error {
	fl := flag.NewFlagSet("pause", flag.ContinueOnError)
	only := fl.String("case", "", "cases whose names contain this `text` alone")
	patience := fl.Duration("patience", 2*time.Minute, "after this time a tool is ended")
	if err := fl.Parse(args); err != nil || fl.NArg() > 0 {
		return errUsage
	}
	programs := map[string]string{"dlv": "../../../internal/dlv", "many": "many", "hard": "hard"}
	for name, pkg := range programs {
		programs[name] = filepath.Join(folder, name)
		if err := testkit.Go("build", "-o", programs[name], filepath.Join("github.com/clewdbg/clew/integration/bench/listing/testdata", pkg)); err != nil {
			return err
		}
	}
	fmt.Println("| process | tool | stood still | memory | time | what it says is missing |\n|---|---|---|---|---|---|")
	for _, one := range hardCases {
		if !strings.Contains(one.name, *only) {
			continue
		}
		for _, tool := range []struct {
			name  string
			limit time.Duration
			args  func(pid string) (args []string, input string)
		}{
			{"clew", 500 * time.Millisecond, func(pid string) ([]string, string) { return []string{clewPath, "stack", "--pid", pid}, "" }},
			{"clew, --max-pause 100ms", 100 * time.Millisecond, func(pid string) ([]string, string) {
				return []string{clewPath, "stack", "--pid", pid, "--max-pause", "100ms"}, ""
			}},
			{"dlv, goroutines -t", 0, func(pid string) ([]string, string) {
				return []string{programs["dlv"], "attach", pid, "--check-go-version=false", "--allow-non-terminal-interactive=true"}, "goroutines -t\nexit\nn\n"
			}},
			{"gdb, thread apply all bt", 0, func(pid string) ([]string, string) {
				return []string{"gdb", "-p", pid, "-batch", "-ex", "thread apply all bt"}, ""
			}},
		} {
			w, err := watchProgram(programs[one.program], filepath.Join(folder, "clock"), one.args...) // a new one: a debugger that is ended may leave its breakpoints
			if err != nil {
				return err
			}
			args, input := tool.args(strconv.Itoa(w.cmd.Process.Pid))
			row, still, err := w.once(args, input, *patience)
			endWithChildren(w)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", one.name, tool.name, err)
			}
			fmt.Printf("| %s | %s | %s\n", one.name, tool.name, row)
			if tool.limit > 0 && still > tool.limit+over {
				return fmt.Errorf("%s, %s: the process stood still for %v", one.name, tool.name, still)
			}
		}
	}
	return nil
}

// over is by how much a process may stand still longer than clew is told, by its own clock.
const over = 100 * time.Millisecond

// once runs a tool, and returns the end of its row.
func (w *watched) once(args []string, input string, patience time.Duration) (row string, still time.Duration, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.WaitDelay = time.Second
	c.Stdin = strings.NewReader(input)
	var out counter
	var said strings.Builder
	c.Stdout, c.Stderr = &out, &said
	if _, err := w.clock.WriteAt(make([]byte, 8), 0); err != nil {
		return "", 0, err
	}
	start := time.Now()
	err = c.Run()
	took := time.Since(start)
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		return "", 0, err
	}
	time.Sleep(200 * time.Millisecond)
	var gap [8]byte
	if _, err := w.clock.ReadAt(gap[:], 0); err != nil {
		return "", 0, err
	}
	still = time.Duration(binary.LittleEndian.Uint64(gap[:]))
	memory, missing := "", strings.ReplaceAll(strings.TrimSpace(said.String()), "\n", "; ")
	if usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		memory = fmt.Sprintf("%d MB", usage.Maxrss>>10)
	}
	if ctx.Err() != nil {
		missing = "ended after " + patience.String()
		still = max(still, took)
	}
	if most := 240; len(missing) > most {
		missing = missing[:most] + "..."
	}
	return fmt.Sprintf("%.1f ms | %s | %.2f s | %s |", float64(still)/1e6, memory, took.Seconds(), strings.ReplaceAll(missing, "|", "/")), still, nil
}

// endWithChildren ends a program, and a child that its threads wait for.
func endWithChildren(w *watched) {
	children, _ := exec.Command("pgrep", "-P", strconv.Itoa(w.cmd.Process.Pid)).Output()
	for _, child := range strings.Fields(string(children)) {
		if pid, err := strconv.Atoi(child); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	end(w.cmd)
	_ = w.clock.Close()
}
