package mutated

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// The limits of a run.
const (
	maxMemory    = 2 << 30          // bytes of a process's data, and resident
	maxProcessor = 10 * time.Second // of all processes of a command together
	maxWall      = 5 * time.Minute  // the machine may be busy
)

// outcome is what a run took, and why it failed, "" if it did not.
type outcome struct {
	code      int
	memory    int64         // bytes resident in its largest process
	processor time.Duration // of all its processes
	failure   string
	output    string
}

// run runs a command of clew with the limit on memory, which its plugins inherit.
//
// Between the two stands another process of this program: Linux counts the memory of the process that has
// started a command as the command's, and this one holds core files.
func run(stdin io.Reader, env []string, args ...string) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), maxWall)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return outcome{failure: err.Error()}
	}
	cmd := exec.CommandContext(ctx, self, append([]string{Between, clewPath}, args...)...)
	cmd.Stdin, cmd.Env = stdin, env
	var out tail
	cmd.Stdout, cmd.Stderr = io.Discard, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	report, reported, err := os.Pipe()
	if err != nil {
		return outcome{failure: err.Error()}
	}
	defer func() { _ = report.Close() }()
	cmd.ExtraFiles = []*os.File{reported}
	err = cmd.Run()
	_ = reported.Close()
	o := outcome{output: out.String()}
	if _, bad := fmt.Fscan(report, &o.code, &o.memory, &o.processor); bad != nil {
		o.code = -1
	}
	o.failure = o.judge(ctx.Err(), err)
	return o
}

// Between is the argument that makes this program run a command, and report what it has taken.
const Between = "-as-parent"

// RunBetween runs the command that its arguments are, and writes its exit code, memory and processor time to the report.
func RunBetween() { os.Exit(between(os.Args[1:])) }

func between(command []string) int {
	report := os.NewFile(3, "report")
	syscall.CloseOnExec(3)
	limit := &syscall.Rlimit{Cur: maxMemory, Max: maxMemory}
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, limit); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 1
	}
	fmt.Fprintln(report, cmd.ProcessState.ExitCode(), usage.Maxrss<<10, int64(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()))
	return 0
}

// judge says what is wrong with a run.
func (o outcome) judge(over, err error) string {
	switch {
	case over != nil:
		return fmt.Sprintf("not over after %v", maxWall)
	case errors.Is(err, exec.ErrWaitDelay):
		return "a process of its own lives on"
	case o.code < 0 || o.code > 3:
		return fmt.Sprintf("exit code %d (%v)", o.code, err)
	case o.memory > maxMemory:
		return fmt.Sprintf("%d MiB of memory", o.memory>>20)
	case o.processor > maxProcessor:
		return fmt.Sprintf("%v of processor time", o.processor)
	}
	// The debugged program may panic too: it has no packages of others. A panic that Delve has recovered from is
	// an answer. One in a goroutine of its own ends the session: it reads what runs anyway.
	output := strings.ReplaceAll(o.output, "recovered panic: ", "")
	for _, sign := range []string{"panic: ", "fatal error: "} {
		_, trace, _ := strings.Cut(output, sign)
		trace, _, _ = strings.Cut(trace, "\n20") // a line of the log begins with the year
		if _, frames, _ := strings.Cut(trace, "\ngithub.com/"); frames != "" && !strings.HasPrefix(frames, "go-delve/") {
			return "it panicked"
		}
	}
	return ""
}

// tail keeps the first and the last of what is written to it.
type tail struct {
	first, last bytes.Buffer
}

const tailSize = 1 << 16

func (t *tail) Write(p []byte) (int, error) {
	if room := tailSize - t.first.Len(); room > 0 {
		t.first.Write(p[:min(room, len(p))])
	} else {
		t.last.Write(p)
		if over := t.last.Len() - tailSize; over > 0 {
			t.last.Next(over)
		}
	}
	return len(p), nil
}

func (t *tail) String() string { return t.first.String() + t.last.String() }
