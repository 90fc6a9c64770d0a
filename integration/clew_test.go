package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema/schematest"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

func TestMain(m *testing.M) { testkit.Main(m, testkit.Clew) }

func clewPath() string { return testkit.Path("clew") }

// Exit codes, as clew's users know them.
const (
	done      = 0
	failed    = 1
	usage     = 2
	truncated = 3
)

// outcome is the result of one run of clew.
type outcome struct {
	args           []string
	code           int
	stdout, stderr string
}

func (o outcome) String() string {
	return fmt.Sprintf("clew %s: exit code %d\nstdout: %s\nstderr: %s", strings.Join(o.args, " "), o.code, clip(o.stdout), clip(o.stderr))
}

func clip(s string) string {
	const most = 4000
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// patience is far above what any run takes, on a loaded machine too.
var patience = testneed.Patience(2 * time.Minute)

// clew runs the command to its end.
func clew(t testing.TB, args ...string) outcome {
	t.Helper()
	return run(t, exec.Command(clewPath(), args...))
}

func run(t testing.TB, cmd *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// A program that holds on to the pipes after clew has ended is itself a
	// failure, which Wait then reports.
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	o := outcome{args: cmd.Args[1:], code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
	if !timer.Stop() {
		t.Fatalf("did not end: %v", o)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v", err, o)
	}
	return o
}

// want fails the test unless clew ended with that exit code.
func (o outcome) want(t testing.TB, code int) outcome {
	t.Helper()
	if o.code != code {
		t.Fatalf("want exit code %d; %v", code, o)
	}
	return o
}

// stacks reads the JSON answer on stdout, and holds it against its schema.
func (o outcome) stacks(t testing.TB) []stackjson.Stack {
	t.Helper()
	answer := parseAnswer(t, []byte(o.stdout))
	if answer.Error != "" || len(answer.Stacks) == 0 {
		t.Fatalf("no stack: %v", o)
	}
	return answer.Stacks
}

func parseAnswer(t testing.TB, data []byte) stackjson.Answer {
	t.Helper()
	if err := schematest.CheckOutput(schema.Stack, data); err != nil {
		t.Errorf("the answer is not as the schema says: %v", err)
	}
	var answer stackjson.Answer
	if err := json.Unmarshal(data, &answer); err != nil {
		t.Fatalf("%v in the answer %s", err, clip(string(data)))
	}
	return answer
}

// show prints a stack for the log of a failed test.
func show(s *stackjson.Stack) string {
	var b strings.Builder
	fmt.Fprintf(&b, "thread %d goroutine %d\n", s.Thread, s.Goroutine)
	skipped := 0
	for i, f := range s.Frames {
		if i >= 60 && i < len(s.Frames)-30 {
			skipped++
			continue
		}
		fmt.Fprintf(&b, "%4d %-13s %-9s %-4s %-14v cfa=%-14v %s %s %s\n", f.Index, f.Trust, f.Strategy, f.Kind, f.PC, f.CFA, f.Function, filepath.Base(f.Image), f.Rule)
		for _, r := range f.Rejected {
			fmt.Fprintf(&b, "       rejected: %s: %s\n", r.Strategy, r.Reason)
		}
	}
	fmt.Fprintf(&b, "%s: %s (%d frames left out here)\n", s.Stop, s.Reason, skipped)
	for _, n := range s.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}

// oneLine demands a failure that is told in exactly one line on stderr, which
// holds all the words, and nothing on stdout.
func (o outcome) oneLine(t testing.TB, code int, words ...string) outcome {
	t.Helper()
	o.want(t, code)
	if o.stdout != "" {
		t.Errorf("there is output on stdout: %v", o)
	}
	o.complains(t, words...)
	return o
}

// complains demands one line on stderr that holds all the words.
func (o outcome) complains(t testing.TB, words ...string) {
	t.Helper()
	if strings.Count(o.stderr, "\n") != 1 || !strings.HasSuffix(o.stderr, "\n") || !strings.HasPrefix(o.stderr, "clew: ") {
		t.Errorf("not one line on stderr: %v", o)
	}
	for _, w := range words {
		if !strings.Contains(o.stderr, w) {
			t.Errorf("stderr does not say %q: %v", w, o)
		}
	}
}
