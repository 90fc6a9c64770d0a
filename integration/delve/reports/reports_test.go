//go:build linux && (amd64 || arm64)

package reports

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
)

// prepared is for a machine without compilers: what [Prepare] has made elsewhere.
var prepared = flag.String("prepared", "", "run the reports in this folder, with its tools")

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestReports runs the script of each report for this architecture.
func TestReports(t *testing.T) {
	testneed.Ptrace(t)
	env := prepare(t)
	documents, err := filepath.Glob(filepath.Join(documentsIn(), "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, document := range documents {
		name := strings.TrimSuffix(filepath.Base(document), ".md")
		if name == "README" {
			continue
		}
		r, err := Read(document)
		if err != nil {
			t.Error(err)
			continue
		}
		if r.Arch != runtime.GOARCH {
			continue // its script runs in the emulation of integration/arm64
		}
		ran++
		t.Run(name, func(t *testing.T) { try(t, r, filepath.Join(*prepared, name), env) })
	}
	if ran == 0 {
		t.Errorf("no report of %d is for %s", len(documents), runtime.GOARCH)
	}
}

// documentsIn is the folder of reports.
func documentsIn() string {
	if *prepared != "" {
		return *prepared
	}
	return "../../../docs/delve"
}

// prepare finds or builds the tools, and returns the environment of scripts.
func prepare(t *testing.T) []string {
	env := append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=1", "XDG_CONFIG_HOME="+t.TempDir())
	if *prepared != "" {
		return append(env, "PATH="+filepath.Join(*prepared, Tools)+":"+os.Getenv("PATH"))
	}
	cc := testneed.CC(t)
	tools := t.TempDir()
	if err := testkit.BuildDlv(filepath.Join(tools, "dlv")); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"strip", "objcopy"} {
		testneed.Tool(t, tool)
	}
	if path, err := exec.LookPath(cc); err == nil { // the scripts call it gcc
		_ = os.Symlink(path, filepath.Join(tools, "gcc"))
	}
	return append(env, "PATH="+tools+":"+os.Getenv("PATH"), "CC="+cc)
}

// try runs a report's script.
func try(t *testing.T, r *Report, folder string, env []string) {
	if *prepared == "" {
		folder = t.TempDir()
		if err := r.Write(folder); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.Command("sh", "script")
	run.Dir, run.Env = folder, env
	run.WaitDelay = 10 * time.Second
	timer := time.AfterFunc(testneed.Patience(time.Minute), func() { _ = run.Process.Kill() })
	defer timer.Stop()
	out, _ := run.CombinedOutput() // the program's end is part of what is seen
	output := colours.ReplaceAllString(string(out), "")
	if want := r.missing(output); want != "" {
		t.Errorf("Delve no longer shows %q; mend the report, and what clew does about it:\n%s", want, output)
	}
}

// TestMissing: lines are looked for in their order.
func TestMissing(t *testing.T) {
	r := Report{Shown: []string{" 1  0x… in f", "2  0x… in g"}}
	for output, want := range map[string]string{
		"1  0x12 in f\n   at f.go:1\n2  0x34 in g":  "",
		"2  0x34 in g\n1  0x12 in f":                "2  0x… in g",
		" 1  0x12 in f\n   at f.go:1\n2  0x34 in h": "2  0x… in g",
	} {
		if got := r.missing(output); got != want {
			t.Errorf("%q: %q is missing, want %q", output, got, want)
		}
	}
}
