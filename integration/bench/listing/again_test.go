package listing

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestWallClock: a short profile of C functions agrees with what the program has counted
// itself. The whole form is `go run ./integration/bench listing profile`.
func TestWallClock(t *testing.T) {
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	testneed.Ptrace(t)
	testneed.CC(t)
	shares, err := compareProfile(t.TempDir(), 3*time.Second, 10*time.Millisecond, 1)
	if err != nil {
		t.Fatal(err)
	}
	if most := mostApart(shares); most > 0.1 {
		t.Errorf("clew and the program differ by %.1f points: %+v", 100*most, shares)
	}
	for i, s := range shares {
		if s.seen == 0 {
			t.Errorf("hot_%d is not in the profile", i)
		}
	}
}

// TestWatch: what has grown since the last listing is printed, and nothing else.
func TestWatch(t *testing.T) {
	pid := startReady(t, "leak").Process.Pid
	page := stack(t, "--pid", strconv.Itoa(pid), "--watch", "500ms", "--count", "2")
	at := regexp.MustCompile(`\n\d\d:\d\d:\d\d  process`).FindStringIndex(page)
	if at == nil {
		t.Fatal(page)
	}
	changes := page[at[0]:]
	if !strings.Contains(changes, "before, ") || !strings.Contains(changes, "[chan send]\n") || !strings.Contains(changes, "  main.fetch\n") || strings.Contains(changes, "bgsweep") {
		t.Errorf("%s", changes)
	}
}

// TestEndsMeanwhile: if the process ends, the profile is of what was seen, and one line
// says so.
func TestEndsMeanwhile(t *testing.T) {
	cmd, file := startReady(t, "leak"), filepath.Join(t.TempDir(), "wall.pb.gz")
	c := exec.Command(clewPath, "stack", "--pid", strconv.Itoa(cmd.Process.Pid), "--count", "100000", "--interval", "10ms", "--format", "pprof", "-o", file)
	var said bytes.Buffer
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(testneed.Patience(2 * time.Second))
	end(cmd)
	if err := c.Wait(); err != nil || strings.Count(said.String(), "\n") != 1 || !strings.Contains(said.String(), "of 100000 listings") {
		t.Errorf("%v: %s", err, said.String())
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(data)
	if err != nil || len(p.Sample) == 0 || p.DurationNanos == 0 {
		t.Errorf("%v: %v", err, p)
	}
}

// TestAgainRefuses: flags that do not go together are wrong usage.
func TestAgainRefuses(t *testing.T) {
	for _, flags := range []string{
		"--pid 1 --count 3", "--pid 1 --count -3 --format pprof", "--pid 1 --watch 1s --format cbf", "--pid 1 --watch 1ns", "--pid 1 --interval 1s",
		"--pid 1 --goroutine 7 --watch 1s", "--pid 1 --watch 1s --interval 1s", "--pid 1 --watch 1s --group label", "--connect 127.0.0.1:1 --watch 1s",
	} {
		out, err := exec.Command(clewPath, append([]string{"stack"}, strings.Fields(flags)...)...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || bytes.Count(out, []byte("\n")) != 1 {
			t.Errorf("%s: %v: %s", flags, err, out)
		}
	}
}

// TestWaitSince: how long a goroutine waits at least is known after some collections, and is
// never more than the truth.
func TestWaitSince(t *testing.T) {
	started := time.Now()
	pid := startReady(t, "collects").Process.Pid
	time.Sleep(500 * time.Millisecond) // for more collections, which the others note
	answer, err := ask(pid)
	if err != nil {
		t.Fatal(err)
	}
	for i := range answer.Stacks {
		s := &answer.Stacks[i]
		if s.State == nil || s.State.WaitReason != "chan receive (nil chan)" {
			continue
		}
		since, err := time.Parse(time.RFC3339Nano, s.State.WaitSince)
		if waited := time.Since(since); err != nil || since.Before(started) || waited < 300*time.Millisecond {
			t.Errorf("it waits since %s (%v), started %v", s.State.WaitSince, err, started)
		}
		return
	}
	t.Error("the goroutine is not there")
}

// TestJSONLines: a listing is a line of JSON each time, with its time, in groups.
func TestJSONLines(t *testing.T) {
	pid := strconv.Itoa(startReady(t, "leak").Process.Pid)
	for _, way := range [][]string{{"--watch", "50ms", "--count", "3"}, {"--interval", "50ms", "--count", "3"}} {
		out := stack(t, append([]string{"--pid", pid, "--format", "json"}, way...)...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if len(lines) != 3 {
			t.Fatalf("%v: %d lines", way, len(lines))
		}
		last := time.Time{}
		for _, line := range lines {
			var one struct {
				Stacks     []struct{ Count int }
				Time       time.Time
				StoodStill float64
			}
			if err := json.Unmarshal([]byte(line), &one); err != nil {
				t.Fatal(err)
			}
			if len(one.Stacks) < 3 || len(one.Stacks) > 50 || !one.Time.After(last) || one.StoodStill <= 0 {
				t.Errorf("%v: %.300s", way, line)
			}
			last = one.Time
		}
	}
}

// TestNothingMatches: a filter that lets nothing pass says what there is.
func TestNothingMatches(t *testing.T) {
	pid := strconv.Itoa(startReady(t, "leak").Process.Pid)
	out, said, code := tryStack(t, "--pid", pid, "--with", "function nowhere")
	if code != 0 || !strings.Contains(said, "goroutines pass; there are: ") || !strings.Contains(said, "chan send") || strings.Contains(out, "main.fetch") {
		t.Errorf("exit code %d: %s", code, said)
	}
}
