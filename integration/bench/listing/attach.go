package listing

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
)

// attach measures what attaching to a loaded server does to its requests.
func attach(folder string, args []string) error {
	fl := flag.NewFlagSet("attach", flag.ContinueOnError)
	n := fl.Int("n", 1000, "attaches by clew --count")
	rate := fl.Int("rate", 300, "requests a second")
	if err := fl.Parse(args); err != nil || fl.NArg() > 0 {
		return errUsage
	}
	server, dlv := filepath.Join(folder, "loaded"), filepath.Join(folder, "dlv")
	for path, pkg := range map[string]string{server: "loaded", dlv: "../../../internal/dlv"} {
		if err := testkit.Go("build", "-o", path, filepath.Join("github.com/clewdbg/clew/integration/bench/listing/testdata", pkg)); err != nil {
			return err
		}
	}
	s, err := startServer(server)
	if err != nil {
		return err
	}
	defer end(s.cmd)
	pid := strconv.Itoa(s.cmd.Process.Pid)
	none := func() error { time.Sleep(10 * time.Second); return nil }
	commands := func(times int, name string, args ...string) func() error {
		return func() error {
			for range times {
				c := exec.Command(name, args...)
				c.Stdin = strings.NewReader("goroutines -t\nexit\nn\n") // dlv's
				if out, err := c.CombinedOutput(); err != nil && c.ProcessState.ExitCode() != truncatedByPeer {
					return fmt.Errorf("%s: %w\n%s", filepath.Base(name), err, out)
				}
				time.Sleep(pauseBetween)
			}
			return nil
		}
	}
	base := time.Duration(-1)
	fmt.Printf("%d requests a second\n\n| attached by | attaches | requests | failed | p50 | p99 | added p99 | longest |\n|---|---|---|---|---|---|---|---|\n", *rate)
	for _, t := range []struct {
		name  string
		times int
		do    func() error
	}{
		{"nothing", 0, none},
		{"`clew stack --count`", *n, func() error {
			return testkit.Run(exec.Command(clewPath, "stack", "--pid", pid, "--count", strconv.Itoa(*n), "--interval", pauseBetween.String(),
				"--format", "pprof", "-o", filepath.Join(folder, "wall.pb.gz")))
		}},
		{"`clew stack`, a command each", 40, commands(40, clewPath, "stack", "--pid", pid)},
		{"eu-stack", 40, commands(40, "eu-stack", "-p", pid)},
		{"gdb", 10, commands(10, "gdb", "-p", pid, "-batch", "-ex", "thread apply all bt")},
		{"dlv", 10, commands(10, dlv, "attach", pid, "--check-go-version=false", "--allow-non-terminal-interactive=true")},
		{"nothing", 0, none},
	} {
		l, err := s.during(*rate, t.do)
		if err != nil {
			return err
		}
		if base < 0 {
			base = l.at(0.99)
		}
		fmt.Printf("| %s | %d | %d | %d | %s | %s | %s | %s |\n", t.name, t.times, len(l.took), l.failed, ms(l.at(0.5)), ms(l.at(0.99)), ms(l.at(0.99)-base), ms(l.at(1)))
	}
	return nil
}

// pauseBetween is the time between two attaches.
const pauseBetween = 50 * time.Millisecond

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/1e6) }

// server is a running one.
type server struct {
	cmd     *exec.Cmd
	address string
	client  http.Client
}

func startServer(path string) (*server, error) {
	s := &server{cmd: exec.Command(path)}
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		end(s.cmd)
		return nil, err
	}
	s.address = "http://" + strings.TrimSpace(line)
	s.client = http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	return s, nil
}

// latencies are those of requests, sorted.
type latencies struct {
	took   []time.Duration
	failed int
}

func (l *latencies) at(part float64) time.Duration {
	if len(l.took) == 0 {
		return 0
	}
	return l.took[int(part*float64(len(l.took)-1))]
}

// during sends requests at a steady rate while do works. A request counts from the time at
// which it was due: those that wait for others count that, too.
func (s *server) during(rate int, do func() error) (*latencies, error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	l := &latencies{}
	done := make(chan struct{})
	wg.Go(func() {
		due := time.Now()
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Until(due)):
			}
			at := due
			wg.Go(func() {
				err := s.request()
				took := time.Since(at)
				mu.Lock()
				defer mu.Unlock()
				l.took = append(l.took, took)
				if err != nil {
					l.failed++
				}
			})
			due = due.Add(time.Second / time.Duration(rate))
		}
	})
	err := do()
	close(done)
	wg.Wait()
	slices.Sort(l.took)
	return l, err
}

func (s *server) request() error {
	r, err := s.client.Get(s.address)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return err
	}
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", r.Status)
	}
	return nil
}
