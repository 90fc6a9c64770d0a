// Package fuzz runs every fuzz target of the module for a time each:
//
//	go run ./integration/hostile fuzz [-time 60s] [-run REGEXP] [package...]
//
// A target fails when it finds an input that fails, which go test writes to the
// package's testdata/fuzz: keep the file, it is a test from then on. A target
// that executed no input at all fails as well.
//
// A run whose only complaint is "context deadline exceeded" passes: that is how
// go test may end on a busy machine when the time is over (golang/go#75804).
// Minimizing is bounded by its number of executions for the same reason.
//
// The exit status is 0 when every target passed, 1 when one failed, 2 for wrong
// usage.
package fuzz

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Main runs it as a program: its arguments are those of the process.
func Main() {
	each := flag.Duration("time", time.Minute, "how long each target runs")
	match := flag.String("run", ".", "only targets that match, as PACKAGE.FuzzName")
	flag.Parse()
	wanted, err := regexp.Compile(*match)
	if err != nil || *each <= 0 {
		fmt.Fprintf(os.Stderr, "fuzz: -time %v -run %q: wrong usage: %v\n", *each, *match, err)
		os.Exit(2)
	}
	ok, err := run(*each, wanted, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// run runs the targets one after another: each uses all processors.
func run(each time.Duration, wanted *regexp.Regexp, packages []string) (ok bool, err error) {
	if len(packages) == 0 {
		packages = []string{"./..."}
	}
	targets, err := find(packages)
	if err != nil {
		return false, err
	}
	ran, failed := 0, 0
	for _, t := range targets {
		if !wanted.MatchString(t.String()) {
			continue
		}
		ran++
		o := t.fuzz(each)
		fmt.Println(o)
		if o.failure != "" {
			failed++
		}
	}
	fmt.Printf("fuzz: %d targets, %d failed\n", ran, failed)
	if ran == 0 {
		return false, fmt.Errorf("no target matches %v", wanted)
	}
	return failed == 0, nil
}

// target is one fuzz target.
type target struct{ pkg, dir, name string }

func (t target) String() string { return t.pkg + "." + t.name }

var declaration = regexp.MustCompile(`(?m)^func (Fuzz\w*)\(\w+ \*testing\.F\)`)

// find lists the fuzz targets of packages, from their test files.
func find(packages []string) (targets []target, err error) {
	const format = `{{$p := .}}{{range .TestGoFiles}}{{$p.ImportPath}} {{.}} {{$p.Dir}}
{{end}}{{range .XTestGoFiles}}{{$p.ImportPath}} {{.}} {{$p.Dir}}
{{end}}`
	cmd := exec.Command("go", append([]string{"list", "-f", format}, packages...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(fields) != 3 {
			continue
		}
		source, err := os.ReadFile(filepath.Join(fields[2], fields[1]))
		if err != nil {
			return nil, err
		}
		for _, m := range declaration.FindAllSubmatch(source, -1) {
			targets = append(targets, target{pkg: fields[0], dir: fields[2], name: string(m[1])})
		}
	}
	return targets, nil
}

// outcome is the result of one target.
type outcome struct {
	target  target
	execs   string // how many inputs, "" for none
	note    string
	failure string
}

func (o outcome) String() string {
	s := "ok    "
	if o.failure != "" {
		s = "FAILED"
	}
	s += fmt.Sprintf(" %s: %s inputs", o.target, orNone(o.execs))
	if o.note != "" {
		s += " (" + o.note + ")"
	}
	if o.failure != "" {
		s += "\n" + o.failure
	}
	return s
}

func orNone(s string) string {
	if s == "" {
		return "no"
	}
	return s
}

var counts = regexp.MustCompile(`fuzz: elapsed: .* execs: (\d+)`)

// fuzz runs go test on the target and judges its output.
func (t target) fuzz(each time.Duration) outcome {
	before := t.crashers()
	cmd := exec.Command("go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", each.String(),
		"-fuzzminimizetime", "20x", "-timeout", "0", t.pkg)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return judge(t, out.String(), err, t.crashers()-before)
}

// judge tells a finding from a run that only ran out of time.
func judge(t target, out string, err error, crashers int) outcome {
	o := outcome{target: t}
	if all := counts.FindAllStringSubmatch(out, -1); len(all) > 0 {
		o.execs = all[len(all)-1][1]
	}
	switch {
	case crashers > 0 || strings.Contains(out, "Failing input written to"):
		o.failure = out
	case err != nil && onlyDeadline(out):
		o.note = "ended by go test's own deadline"
	case err != nil:
		o.failure = out + err.Error()
	}
	if o.failure == "" && (o.execs == "" || o.execs == "0") {
		o.failure = out + "no input was executed"
	}
	return o
}

// onlyDeadline says that the one thing that failed is the deadline.
func onlyDeadline(out string) bool {
	deadline := false
	for line := range strings.Lines(out) {
		switch line = strings.TrimSpace(line); {
		case line == "context deadline exceeded":
			deadline = true
		case line == "", line == "FAIL", strings.HasPrefix(line, "fuzz: "), strings.HasPrefix(line, "--- FAIL: Fuzz"),
			strings.HasPrefix(line, "FAIL\t"), strings.HasPrefix(line, "exit status "):
		default:
			return false
		}
	}
	return deadline
}

// crashers counts the failing inputs that are kept for the target.
func (t target) crashers() int {
	entries, _ := os.ReadDir(filepath.Join(t.dir, "testdata", "fuzz", t.name)) // none: no folder
	return len(entries)
}
