//go:build linux

package crash

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema/schematest"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// reported runs the program with reports switched on, and returns the folder for them.
func reported(t testing.TB, program, how string, env ...string) (dir, stdout, stderr string, state *os.ProcessState) {
	t.Helper()
	testneed.Ptrace(t)
	dir = filepath.Join(t.TempDir(), "reports")
	stdout, stderr, state = run(t, "", append(env, "REPORTS="+dir, "CLEW="+testkit.Path("clew")), program, how)
	return dir, stdout, stderr, state
}

// theReport waits for the one report in a folder, and reads it.
func theReport(t testing.TB, dir string) (*report, string) {
	t.Helper()
	for deadline := time.Now().Add(testneed.Patience(20 * time.Second)); ; time.Sleep(10 * time.Millisecond) {
		found, err := filepath.Glob(filepath.Join(dir, "*.crash"))
		if err != nil || len(found) > 1 {
			t.Fatalf("reports: %v, %v", found, err)
		}
		if len(found) == 1 {
			return readReport(t, found[0]), found[0]
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(dir, "monitor.log"))
			t.Fatalf("no report\n%s", log)
		}
	}
}

func readReport(t testing.TB, path string) *report {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := schematest.CheckOutput(schema.CrashReport, text); err != nil {
		t.Fatal(err)
	}
	out := new(report)
	if err := json.Unmarshal(text, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// fromDeath are the functions and lines of the stack that died, from the frame that was interrupted on: the frames before it are those in
// which the runtime prints, or raises a signal.
func fromDeath(r *report) (out []string) {
	frames := r.Stacks[0].Frames
	if r.Crash.Frame != nil {
		frames = frames[*r.Crash.Frame:]
	}
	for i, f := range frames {
		if r.Crash.Frame == nil && f.Function != "runtime.checkdead" && len(out) == 0 {
			continue
		}
		if r.Crash.Frame == nil && len(out) > 0 {
			break // which thread finds the deadlock is chance
		}
		line := f.Function
		if i > 0 || f.Kind == stackjson.KindPC {
			line += " " + f.File
		}
		out = append(out, line)
	}
	return out
}

// TestReports: the report of each death says what the source says, its stack is that in a core file of the same death, and the program's
// death is what it is without.
func TestReports(t *testing.T) {
	for _, w := range ways {
		t.Run(w.how, func(t *testing.T) {
			program := dies(t, w.pure)
			_, stderr, without := run(t, "", nil, program, w.how)
			dir, _, got, with := reported(t, program, w.how)
			if with.Sys().(syscall.WaitStatus) != without.Sys().(syscall.WaitStatus) {
				t.Errorf("the program ends with %v, without reports with %v", with, without)
			}
			if a, b := plain(got), plain(stderr); a != b {
				t.Errorf("standard error is\n%.1000s\nwithout reports\n%.1000s", a, b)
			}
			if w.unseen {
				none(t, dir)
				return
			}
			r, path := theReport(t, dir)
			w.check(t, r, got, w.signal)
			if !strings.Contains(got, strings.TrimSuffix(r.Text, "...\n")) || r.Text == "" {
				t.Errorf("Go's text is\n%.600s\nand the program has printed\n%.600s", r.Text, got)
			}
			core, _ := dump(t, program, w.how)
			a, b := fromDeath(r), fromDeath(ofCore(t, core, program))
			if w.deep {
				b = b[:min(len(a), len(b))]
			}
			if !slices.Equal(a, b) || len(a) == 0 {
				t.Errorf("the report has\n%s\nthe core file\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
			}
			check(t, path, r)
		})
	}
}

// check looks at the other files of a report.
func check(t testing.TB, path string, r *report) {
	t.Helper()
	size := int64(0)
	for _, name := range []string{"report.json", "report.txt", "crash.cbf", "crash.cif"} {
		info, err := os.Stat(filepath.Join(path, name))
		if err != nil {
			t.Fatal(err)
		}
		if size += info.Size(); info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", name, info.Mode())
		}
	}
	if size > 64<<10 {
		t.Errorf("the report has %d bytes", size)
	}
	out, errs, _ := run(t, "", nil, testkit.Path("clew"), "decode", "--format", "json", "--images", filepath.Join(path, "crash.cif"), filepath.Join(path, "crash.cbf"))
	var decoded struct {
		Frames []struct{ Kind, Address string }
	}
	if err := json.Unmarshal([]byte(out), &decoded); err != nil {
		t.Fatalf("%v\n%.300s%s", err, out, errs)
	}
	var want []string
	for _, f := range r.Stacks[0].Frames {
		if !f.Inlined {
			want = append(want, f.PC.String())
		}
	}
	var have []string
	for _, f := range decoded.Frames {
		if f.Address != "" {
			have = append(have, f.Address)
		}
	}
	if !slices.Equal(have, want) {
		t.Errorf("crash.cbf begins with\n%v\nwant\n%v", have, want)
	}
}

// none fails if there is a report, once every process of clew's has had the time to write one.
func none(t testing.TB, dir string) {
	t.Helper()
	time.Sleep(500 * time.Millisecond)
	if found, _ := filepath.Glob(filepath.Join(dir, "*.crash")); len(found) > 0 {
		t.Errorf("there are reports: %v", found)
	}
}

// plain leaves out of Go's text what differs from run to run: addresses, numbers of threads and processes, and goroutines that were doing
// something else.
func plain(text string) string {
	text = regexp.MustCompile(`0x[0-9a-f]+|\b[0-9]+\b`).ReplaceAllString(text, "N")
	if parts := strings.SplitN(text, "\n\ngoroutine ", 3); len(parts) == 3 {
		return parts[0] + parts[1]
	}
	return text
}

// TestOutput: a program's own crash output gets what standard error has.
func TestOutput(t *testing.T) {
	for _, how := range []string{"panic", "read"} {
		path := filepath.Join(t.TempDir(), "output")
		dir, _, stderr, _ := reported(t, dies(t, false), how, "OUTPUT="+path)
		theReport(t, dir)
		if text, err := os.ReadFile(path); err != nil || string(text) != stderr {
			t.Errorf("%v; the output has\n%.500s\nstandard error\n%.500s", err, text, stderr)
		}
	}
}

// TestNoReport: what is no crash leaves nothing, and no process.
func TestNoReport(t *testing.T) {
	for how, code := range map[string]int{"return": 0, "exit": 7, "sigterm": -1, "kill": -1} {
		dir, _, stderr, state := reported(t, dies(t, false), how)
		if state.ExitCode() != code || stderr != "" {
			t.Errorf("%s: %v %s", how, state, stderr)
		}
		none(t, dir)
		if left := guards(t, dir); len(left) > 0 {
			t.Errorf("%s: left running: %v", how, left)
		}
	}
}

// guards are the processes that serve a folder for reports.
func guards(t testing.TB, dir string) (out []string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), dir) && strings.Contains(string(text), "crash-monitor") {
			out = append(out, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return out
}
