package memory

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/internal/testkit"
)

// stackLimit is the size of the main thread's stack for a million calls of C, in
// bytes, and more.
const stackLimit = 256 << 20

// deepRun is one run of the command beside a program that has called itself.
type deepRun struct {
	language string // the program's
	depth    int
	format   string
	took     time.Duration
	memory   int64 // the most that clew and its plugins have had resident, in bytes
	calls    int   // return addresses of the function that calls itself
}

// deepPrograms builds the command and the program that calls itself.
func deepPrograms(dir string) (clew, program string, err error) {
	clew, program = filepath.Join(dir, "clew"), filepath.Join(dir, "deep")
	source, err := filepath.Abs(filepath.Join("testdata", "deep"))
	if err != nil {
		return "", "", err
	}
	if _, err := os.Stat(source); err != nil { // from the module's folder
		source, _ = filepath.Abs(filepath.Join("integration", "hostile", "memory", "testdata", "deep"))
	}
	with, err := tools()
	if err != nil {
		return "", "", err
	}
	if err := testkit.BuildClew(clew); err != nil {
		return "", "", err
	}
	if err := testkit.GoIn("", []string{"CC=" + with.CC, "CGO_ENABLED=1"}, "build", "-o", program, filepath.Join(source, "main.go")); err != nil {
		return "", "", err
	}
	return clew, program, nil
}

// raiseStackLimit lets the programs that are started have deep stacks.
func raiseStackLimit() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_STACK, &limit); err != nil {
		return err
	}
	if limit.Cur >= stackLimit {
		return nil
	}
	limit.Cur, limit.Max = stackLimit, max(limit.Max, stackLimit)
	return syscall.Setrlimit(syscall.RLIMIT_STACK, &limit)
}

// deep runs the command: a page of 20 frames as JSON, or the whole stack as CBF.
func deep(clew, program, language string, depth int, format string) (deepRun, error) {
	r := deepRun{language: language, depth: depth, format: format}
	file := filepath.Join(filepath.Dir(clew), "deep.cbf")
	args := []string{"stack", "--format", "json", "--depth", "20"}
	if format == "cbf" {
		args = []string{"stack", "--format", "cbf", "-o", file}
	}
	cmd := exec.Command(clew, append(args, "--", program, language, strconv.Itoa(depth))...)
	cmd.Env = append(os.Environ(), "GOGC=100") // tests of damaged stacks turn collections off for their programs
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return r, err
	}
	done, sampled := make(chan struct{}), make(chan int64)
	go func() { sampled <- sample(cmd.Process.Pid, done) }()
	err := cmd.Wait()
	r.took = time.Since(start)
	close(done)
	r.memory = <-sampled
	var exit *exec.ExitError
	page := format != "cbf" && errors.As(err, &exit) && exit.ExitCode() == 3 // truncated at the depth asked for
	if err != nil && !page {
		return r, fmt.Errorf("%v: %w\n%s", cmd.Args, err, stderr.String())
	}
	if format != "cbf" {
		r.calls = strings.Count(stdout.String(), `down"`) - 1
		return r, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return r, err
	}
	counts := make(map[uint64]int)
	d := cbf.NewDecoder(data, cbf.DecodeOptions{})
	for d.Next() {
		counts[d.Frame().Address]++
	}
	if d.Err() != nil || !d.Complete() {
		return r, fmt.Errorf("%s is not complete: %w", file, d.Err())
	}
	for _, n := range counts {
		r.calls = max(r.calls, n)
	}
	return r, nil
}

// sample returns the most memory that a process and its plugins have had resident
// at once.
func sample(pid int, done <-chan struct{}) (most int64) {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		sum := resident(pid)
		for _, child := range children(pid) {
			if text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child)); bytes.Contains(text, []byte("\x00plugin\x00")) {
				sum += resident(child)
			}
		}
		most = max(most, sum)
		select {
		case <-done:
			return most
		case <-ticker.C:
		}
	}
}

func resident(pid int) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid)) // gone: 0
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[1], 10, 64)
	return n * int64(os.Getpagesize())
}

func children(pid int) (out []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, name := range tasks {
		text, _ := os.ReadFile(name)
		for _, field := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(field); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}
