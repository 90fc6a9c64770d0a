//go:build linux

package killed

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
)

var (
	kills  = flag.Int("kills", 10, "how many sessions are killed")
	seed   = flag.Uint64("seed", 1, "of the moments and of what the sessions do")
	tracer = flag.Bool("tracer", false, "kill the process that traces the program, not the one that was started")
	ways   = flag.String("ways", "", "the ways to begin a session, by commas; all of them without it")
)

// patience is the time in which what is left of a session is mended.
const patience = 15 * time.Second

// way is how a session begins.
type way struct {
	name    string
	attach  bool
	client  client
	command string // its words; PID, SOCKET, BUSY and OUT stand for what they name
}

// client is who asks for something in the session.
type client int

const (
	typed    client = iota // on the standard input
	headless               // a terminal before the server
	editor                 // over DAP
	nobody                 // the command does one thing and ends
)

var all = []way{
	{"attach", true, typed, "attach PID"},
	{"attach headless", true, headless, "attach PID --headless --listen unix:SOCKET"},
	{"attach accept-multiclient", true, headless, "attach PID --headless --accept-multiclient --continue --listen unix:SOCKET"},
	{"exec", false, typed, "exec BUSY"},
	{"exec headless", false, headless, "exec BUSY --headless --listen unix:SOCKET"},
	{"debug", false, typed, "debug --output OUT"},
	{"dap attach", true, editor, "dap --listen unix:SOCKET"},
	{"dap launch", false, editor, "dap --listen unix:SOCKET"},
	{"test", false, typed, "test --output OUT"},
	{"stack", true, nobody, "stack --pid PID --goroutine all"},
}

func (w *way) arguments(busy, folder string, pid int) []string {
	return strings.Fields(strings.NewReplacer("PID", strconv.Itoa(pid), "SOCKET", filepath.Join(folder, "s"), "BUSY", busy, "OUT", filepath.Join(folder, "out")).Replace(w.command))
}

// TestKilled kills sessions. What they do before, and when they are killed, comes from the seed.
func TestKilled(t *testing.T) {
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	testneed.Ptrace(t)
	r := rand.New(rand.NewPCG(*seed, 0))
	b := newBench(t)
	of, bad := map[string]int{}, map[string]int{}
	chosen := slices.DeleteFunc(slices.Clone(all), func(w way) bool {
		return *ways != "" && !slices.Contains(strings.Split(*ways, ","), w.name)
	})
	for i := range *kills {
		w := chosen[i%len(chosen)]
		of[w.name]++
		for _, fault := range b.session(t, r, &w) {
			bad[w.name]++
			t.Errorf("kill %d (%s): %s", i, w.name, fault)
		}
	}
	t.Logf("sessions: %v; %d had their program when they were killed, %d breakpoints in it; faults: %v", of, b.held, b.planted, bad)
	if *kills >= 2*len(chosen) && b.held == 0 {
		t.Error("no session was killed while it had a program")
	}
}

// bench is what sessions are made with.
type bench struct {
	clew, busy, source string
	victim             *victim
	held, planted      int // sessions that had a program when they were killed; whose breakpoints were in it
}

func newBench(t *testing.T) *bench {
	t.Helper()
	folder := t.TempDir()
	source, err := filepath.Abs("testdata/busy")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{clew: filepath.Join(folder, "clew"), busy: filepath.Join(folder, "busy"), source: source}
	if err := errors.Join(testkit.BuildClew(b.clew), testkit.GoIn(source, nil, "build", "-gcflags=all=-N -l", "-o", b.busy, ".")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.victim.end() })
	return b
}

// session runs one session, kills it, and returns what it has left behind.
func (b *bench) session(t *testing.T, r *rand.Rand, w *way) []string {
	t.Helper()
	folder := t.TempDir()
	if w.attach && b.victim == nil {
		b.victim = start(t, b.busy)
	}
	pid := 0
	if w.attach {
		pid = b.victim.cmd.Process.Pid
	}
	counts := filepath.Join(folder, "counts")
	args, lasts := w.arguments(b.busy, folder, pid), testneed.Patience(2500*time.Millisecond)
	switch w.client {
	case typed:
		args = append(args, "--allow-non-terminal-interactive=true")
	case nobody:
		lasts /= 5
	}
	if !w.attach && w.client != editor {
		args = append(args, "--", counts)
	}
	s := exec.Command(b.clew, args...)
	s.Dir = b.source
	in, err := s.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	stop, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	lines, socket := script(r), filepath.Join(folder, "s")
	switch own := rand.New(rand.NewPCG(r.Uint64(), 0)); {
	case w.client == typed:
		go say(in, lines, stop)
	case w.client == headless:
		go b.connect(socket, lines, stop)
	case w.client == editor && w.attach:
		go edit(socket, "attach", map[string]any{"mode": "local", "processId": pid}, own, release)
	case w.client == editor:
		go edit(socket, "launch", map[string]any{"mode": "exec", "program": b.busy, "args": []string{counts}}, own, release)
	}
	time.Sleep(time.Duration(r.Int64N(int64(lasts))))
	b.note(w, counts)
	killed := s.Process.Pid
	if *tracer && w.attach {
		if id := tracerOf(pid); id > 0 {
			killed = id
		}
	}
	_ = syscall.Kill(killed, syscall.SIGKILL)
	close(stop)
	_ = s.Wait()
	if w.attach {
		faults := b.victim.faults()
		if len(faults) > 0 {
			b.victim.end()
			b.victim = nil
		}
		return faults
	}
	return launched(counts)
}

// note notes how far a session is.
func (b *bench) note(w *way, counts string) {
	if !w.attach {
		if pid := counting(counts); pid > 0 && tracerOf(pid) > 0 {
			b.held++
		}
		return
	}
	if tracerOf(b.victim.cmd.Process.Pid) > 0 {
		b.held++
	}
	if len(b.victim.changed()) > 0 {
		b.planted++
	}
}

// script is what a user types: breakpoints that are hit often, with conditions, and steps.
func script(r *rand.Rand) (lines []string) {
	lines = []string{[]string{"break main.work", "break main.step", "break main.go:19"}[r.IntN(3)]}
	if r.IntN(3) == 0 {
		lines = append(lines, "condition 1 n == 12345678")
	}
	for range 40 {
		lines = append(lines, []string{"continue", "continue", "next", "step", "stepout", "step-instruction", "stack", "break main.want", "clearall main.want"}[r.IntN(9)])
	}
	return lines
}

// say types a script.
func say(in io.Writer, lines []string, stop <-chan struct{}) {
	for _, line := range lines {
		if _, err := fmt.Fprintln(in, line); err != nil {
			return
		}
	}
	<-stop // at the end of its input a terminal ends the session
}

// connect types it in a terminal before a headless server.
func (b *bench) connect(socket string, lines []string, stop <-chan struct{}) {
	if !await(stop, func() bool { _, err := os.Stat(socket); return err == nil }) {
		return
	}
	cmd := exec.Command(b.clew, "connect", "unix:"+socket, "--allow-non-terminal-interactive=true")
	in, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return
	}
	say(in, lines, stop)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// launched says whether a program that was launched still runs: it is the one that counts in a file.
func launched(counts string) []string {
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		pid := counting(counts)
		if pid == 0 {
			return nil
		}
		if time.Now().After(end) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			return []string{fmt.Sprintf("process %d still runs", pid)}
		}
	}
}

// counting is the process that has this argument, and is not clew; 0 for none.
func counting(counts string) int {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		text, err := os.ReadFile(path)
		args := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
		if pid, _ := strconv.Atoi(strings.Split(path, "/")[2]); err == nil && len(args) == 2 && args[1] == counts && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return pid
		}
	}
	return 0
}
