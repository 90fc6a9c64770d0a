package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// An event is a line of go test -json (go doc test2json; build events: go help
// buildjson).
type event struct {
	Action     string
	Package    string
	Test       string // "" for the package itself
	Output     string
	ImportPath string // of build events
}

// A report follows the events of one or more runs of go test. It prints what go
// test would print, and keeps the list of tests that were left out.
type report struct {
	out            io.Writer
	running        map[string]map[string][]string // package, test: its output so far
	passed, failed int
	leftOut        map[string][]string // reason: tests
	failures       map[name]int        // of the last run: how often each of them and its parts failed
	broken         bool                // something failed that is no test: a build, a binary that died
	unsteady       []name              // failed among the others, passed alone

	packages, ended int // how many there are to test, and how many have been
	start           time.Time
}

// A name is a test's, without its parts.
type name struct{ pkg, test string }

func (n name) String() string { return n.pkg + "." + n.test }

func newReport(out io.Writer) *report {
	return &report{out: out, running: map[string]map[string][]string{}, leftOut: map[string][]string{}, failures: map[name]int{}}
}

// read takes events until the end of in. Lines that are no events, as a test binary
// may print them, pass through.
func (r *report) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
				r.take(e)
			} else {
				r.print(line)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading from go test: %w", err)
		}
	}
}

func (r *report) print(s string) { fmt.Fprint(r.out, s) }

func (r *report) take(e event) {
	switch {
	case e.Action == "build-output":
		r.print(e.Output)
	case e.Package == "":
	case e.Test == "":
		r.takePackage(e)
	default:
		r.takeTest(e)
	}
}

func (r *report) takePackage(e event) {
	switch e.Action {
	case "output":
		if e.Output != "PASS\n" {
			r.print(e.Output)
		}
	case "fail":
		if len(r.running[e.Package]) > 0 || !slices.ContainsFunc(slices.Collect(maps.Keys(r.failures)),
			func(n name) bool { return n.pkg == e.Package }) {
			r.broken = true
		}
		// A binary that died or ran out of time leaves tests without an end;
		// their output says where.
		for _, name := range slices.Sorted(maps.Keys(r.running[e.Package])) {
			r.failed++
			r.print(strings.Join(r.running[e.Package][name], ""))
		}
		delete(r.running, e.Package)
		r.progress()
	case "pass", "skip": // skip: no test files
		delete(r.running, e.Package)
		r.progress()
	}
}

func (r *report) takeTest(e event) {
	tests := r.running[e.Package]
	if tests == nil {
		tests = map[string][]string{}
		r.running[e.Package] = tests
	}
	switch e.Action {
	case "run":
		tests[e.Test] = nil
	case "output":
		tests[e.Test] = append(tests[e.Test], e.Output)
	case "pass":
		r.passed++
		delete(tests, e.Test)
	case "fail":
		r.failed++
		top, _, _ := strings.Cut(e.Test, "/")
		r.failures[name{e.Package, top}]++
		r.print(strings.Join(tests[e.Test], ""))
		delete(tests, e.Test)
	case "skip":
		r.leaveOut(e.Package+"."+e.Test, reason(tests[e.Test]))
		delete(tests, e.Test)
	}
}

// leaveOut notes a test that was left out, and the reason.
func (r *report) leaveOut(what, why string) {
	if !slices.Contains(r.leftOut[why], what) { // both runs may leave it out
		r.leftOut[why] = append(r.leftOut[why], what)
	}
}

// reason finds in a skipped test's output why it was skipped.
func reason(output []string) string {
	var other []string
	for _, line := range output {
		if _, after, found := strings.Cut(line, testneed.LeftOut); found {
			return strings.TrimSpace(after)
		}
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			other = append(other, line)
		}
	}
	if len(other) == 0 {
		return "no reason given"
	}
	return strings.Join(other, "; ")
}

// conclude prints the tests left out and the counts, and reports whether that
// is a success.
func (r *report) conclude(ci bool) bool {
	skipped := 0
	for _, why := range slices.Sorted(maps.Keys(r.leftOut)) {
		tests := r.leftOut[why]
		skipped += len(tests)
		fmt.Fprintf(r.out, "%s%s\n", testneed.LeftOut, why)
		for _, test := range tests {
			fmt.Fprintf(r.out, "    %s\n", test)
		}
	}
	for _, n := range r.unsteady {
		fmt.Fprintf(r.out, "UNSTEADY: %s failed among the others (above) and passed %d times alone\n", n, alone)
	}
	ok := r.failed == 0 && !r.broken
	switch {
	case r.passed+r.failed == 0:
		r.print("check: no test ran\n")
		ok = false
	case skipped > 0 && ci:
		r.print("check: CI leaves nothing out, but it did (above)\n")
		ok = false
	case skipped > 0:
		r.print("check: this machine could not run every test (above); CI runs them all\n")
	}
	fmt.Fprintf(r.out, "tests: %d passed, %d failed, %d skipped\n", r.passed, r.failed, skipped)
	return ok
}
