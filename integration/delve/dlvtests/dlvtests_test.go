package dlvtests

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
)

const (
	delveModule  = "github.com/go-delve/delve"
	delveCommand = delveModule + "/cmd/dlv"
)

// different are the tests that need not end alike.
var different = map[string]string{
	"TestVersion": "it compares the text with the version of Delve's own module",
	// It looks for MethodByName. Whoever links go-plugin has it: protobuf's descriptions
	// and the templates of gRPC's traces call methods by name.
	"TestDeadcodeEliminated": "plugins are served over gRPC",
}

// outcomes are the tests by name: pass, fail or skip.
type outcomes map[string]string

// TestSamePasses: every test of Delve's that passes with dlv passes with clew.
// One that does not is tried again with both, for those that depend on time.
func TestSamePasses(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.CC(t)
	testneed.Ptrace(t)
	h := newHarness(t)
	h.buildSuite(t, filepath.Join("cmd", "dlv"))
	h.compare(t, "", contender{name: "dlv", path: h.goCommand(t, "dlv")}, contender{name: "clew", path: h.goCommand(t, "clew")})
}

// contender is what a suite is run with.
type contender struct {
	name string
	path string // a folder before PATH, "" for none
	env  []string
}

// compare runs the suite's tests that match only ("" for all) with both. What passes with
// the peer must pass with ours; what does not is tried again with both, for the tests that
// depend on time.
func (h *harness) compare(t *testing.T, only string, with, and contender) {
	t.Helper()
	peer, ours := h.run(t, with, only), h.run(t, and, only)
	// Where the kernel runs no eBPF programs, 11 of Delve's own fail.
	if count(peer, "pass") < 8 || only == "" && count(peer, "pass") < 25 {
		t.Fatalf("only %d tests ran with %s, %d passed: this is not Delve's test suite", len(peer), with.name, count(peer, "pass"))
	}
	for try := 0; try < 2; try++ {
		worse := lost(peer, ours)
		if len(worse) == 0 {
			break
		}
		t.Logf("again: %v", worse)
		again := "^(" + strings.Join(topLevel(worse), "|") + ")$"
		maps.Copy(peer, h.run(t, with, again))
		maps.Copy(ours, h.run(t, and, again))
	}
	for _, name := range lost(peer, ours) {
		t.Errorf("%s passes with %s; with %s: %s\n%s", name, with.name, and.name, ours[name], h.output[and.name+" "+name])
	}
	t.Logf("%s: %d passed, %d failed, %d skipped; %s: %d, %d, %d", with.name,
		count(peer, "pass"), count(peer, "fail"), count(peer, "skip"), and.name, count(ours, "pass"), count(ours, "fail"), count(ours, "skip"))
	t.Logf("passes with %s alone: %v", and.name, lost(ours, peer))
}

// lost lists what passes with dlv and not with clew.
func lost(peer, ours outcomes) []string {
	var out []string
	for name, outcome := range peer {
		if _, ok := different[name]; !ok && outcome == "pass" && ours[name] != "pass" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// topLevel gives the tests' names without those of their parts.
func topLevel(names []string) []string {
	var out []string
	for _, name := range names {
		top, _, _ := strings.Cut(name, "/")
		out = append(out, regexp.QuoteMeta(top))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func count(o outcomes, outcome string) int {
	n := 0
	for _, got := range o {
		if got == outcome {
			n++
		}
	}
	return n
}

// harness is one of Delve's test binaries, and what it may be run with.
type harness struct {
	source string // a copy of Delve's module: its tests write beside their sources
	folder string // the suite's, in it
	tests  string // the test binary
	goTool string
	binary map[string]string // "dlv" and "clew"
	output map[string]string // of failed tests, by binary and test
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{goTool: goTool, source: filepath.Join(t.TempDir(), "delve"), binary: make(map[string]string), output: make(map[string]string)}
	module := strings.TrimSpace(h.command(t, ".", "list", "-m", "-f", "{{.Dir}}", delveModule))
	if err := os.CopyFS(h.source, os.DirFS(module)); err != nil {
		t.Fatal(err)
	}
	makeWritable(t, h.source)
	bin := t.TempDir()
	for name, build := range map[string]func(string) error{"dlv": testkit.BuildDlvAlone, "clew": testkit.BuildClew} {
		h.binary[name] = filepath.Join(bin, name)
		if err := build(h.binary[name]); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// buildSuite builds the tests of a folder of Delve's.
func (h *harness) buildSuite(t *testing.T, folder string) {
	t.Helper()
	h.folder, h.tests = filepath.Join(h.source, folder), filepath.Join(t.TempDir(), "delve.test")
	h.command(t, h.folder, "test", "-c", "-o", h.tests, ".")
}

// makeWritable undoes the module cache's protection, which was copied too.
func makeWritable(t *testing.T, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return os.Chmod(path, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// command runs the go command.
func (h *harness) command(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(h.goTool, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			out = exit.Stderr
		}
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// shim is the go command that the tests find: $0 build -o FILE ... PACKAGE.
const shim = `#!/bin/sh
for last; do :; done
if [ "$1 $2" = "build -o" ] && [ "$last" = %s ]; then
	exec cp '%s' "$3"
fi
exec '%s' "$@"
`

// goCommand returns a folder with a go command that builds dlv by copying a binary.
func (h *harness) goCommand(t *testing.T, name string) string {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "go"), fmt.Appendf(nil, shim, delveCommand, h.binary[name], h.goTool), 0o755); err != nil {
		t.Fatal(err)
	}
	return bin
}

// run runs the tests that match only ("" for all). On a machine without Go, which is slow,
// each runs alone, and says how it ended.
func (h *harness) run(t *testing.T, with contender, only string) outcomes {
	t.Helper()
	if *prepared == "" {
		return h.runTogether(t, with, only, 20*time.Minute)
	}
	list := exec.Command(h.tests, "-test.list="+cmp.Or(only, "."))
	list.Dir = h.folder
	names, err := list.Output()
	if err != nil {
		t.Fatalf("%v: %v", list, err)
	}
	all := make(outcomes)
	for _, name := range strings.Fields(string(names)) {
		start := time.Now()
		got := h.runTogether(t, with, "^"+name+"$", testneed.Patience(time.Minute))
		maps.Copy(all, got)
		fmt.Fprintf(os.Stderr, "%s: %s: %s, %.0f s\n", with.name, name, cmp.Or(got[name], "no result"), time.Since(start).Seconds())
		for part, result := range got {
			if result == "fail" {
				fmt.Fprint(os.Stderr, h.output[with.name+" "+part])
			}
		}
	}
	return all
}

// runTogether runs tests in one process, which ends when the limit has passed.
func (h *harness) runTogether(t *testing.T, with contender, only string, limit time.Duration) outcomes {
	t.Helper()
	// Into a file, not a pipe: a program that a test has left behind keeps a pipe open.
	text, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	args := []string{"-test.v=test2json", "-test.timeout=" + limit.String()}
	if only != "" {
		args = append(args, "-test.run="+only)
	}
	tests := exec.Command(h.tests, args...)
	tests.Dir, tests.Stdout, tests.Stderr = h.folder, text, text
	tests.Env = append(os.Environ(), with.env...)
	if with.path != "" {
		tests.Env = append(tests.Env, "PATH="+with.path+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	ended := tests.Run()
	if _, err := text.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	convert := exec.Command(h.goTool, "tool", "test2json", "-t")
	convert.Stdin = text
	stdout, err := convert.StdoutPipe()
	if err == nil {
		err = convert.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	out := h.read(t, with.name, stdout)
	if err := errors.Join(ended, convert.Wait()); err != nil && len(out) == 0 {
		t.Fatalf("Delve's tests with %s: %v", with.name, err)
	}
	return out
}

// read takes in test2json's lines.
func (h *harness) read(t *testing.T, name string, r io.Reader) outcomes {
	t.Helper()
	out := make(outcomes)
	text := make(map[string]string)
	for d := json.NewDecoder(r); ; {
		var line struct{ Action, Test, Output string }
		if err := d.Decode(&line); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		if line.Test == "" {
			continue
		}
		switch line.Action {
		case "output":
			text[line.Test] += line.Output
		case "pass", "fail", "skip":
			out[line.Test] = line.Action
			if line.Action == "fail" {
				h.output[name+" "+line.Test] = text[line.Test]
			}
		}
	}
}
