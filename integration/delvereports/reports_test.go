//go:build linux && amd64

package delvereports

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// report is a document of docs/delve: files that it has the reader write, by name, and lines
// that Delve then shows, in this order among others. An ellipsis stands for any text.
type report struct {
	files map[string]string
	shown []string
}

var (
	fileBlock  = regexp.MustCompile("(?s)\n`([^`\n]+)`\n\n```[a-z]*\n(.*?)```\n")
	shownBlock = regexp.MustCompile("(?s)\n## What is seen\n.*?\n```\n(.*?)```\n")
)

func parse(text string) (report, error) {
	r := report{files: make(map[string]string)}
	for _, m := range fileBlock.FindAllStringSubmatch(text, -1) {
		r.files[m[1]] = m[2]
	}
	m := shownBlock.FindStringSubmatch(text)
	if m == nil || r.files["script"] == "" {
		return r, fmt.Errorf("no script, or nothing that is seen")
	}
	r.shown = strings.Split(strings.TrimSpace(m[1]), "\n")
	return r, nil
}

// missing returns the first line that is not shown, or not in its place; "" for none.
func (r *report) missing(output string) string {
	rest := strings.Split(output, "\n")
	for _, want := range r.shown {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(want)), "…", ".*")
		line := regexp.MustCompile("^" + strings.ReplaceAll(pattern, "  ", " +") + "$")
		at := 0
		for at < len(rest) && !line.MatchString(strings.TrimSpace(rest[at])) {
			at++
		}
		if at == len(rest) {
			return want
		}
		rest = rest[at+1:]
	}
	return ""
}

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestReports runs each report's script.
func TestReports(t *testing.T) {
	cc := testneed.CC(t)
	testneed.Ptrace(t)
	tools := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(tools, "dlv"), "github.com/clewdbg/clew/integration/internal/dlv")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, tool := range []string{"strip", "objcopy"} {
		testneed.Tool(t, tool)
	}
	if path, err := exec.LookPath(cc); err == nil { // the scripts call it gcc
		_ = os.Symlink(path, filepath.Join(tools, "gcc"))
	}
	documents, err := filepath.Glob("../../docs/delve/*.md")
	if err != nil || len(documents) < 2 {
		t.Fatalf("documents: %d, %v", len(documents), err)
	}
	for _, document := range documents {
		name := strings.TrimSuffix(filepath.Base(document), ".md")
		if name == "README" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(document)
			if err != nil {
				t.Fatal(err)
			}
			r, err := parse(string(text))
			if err != nil {
				t.Fatal(err)
			}
			folder := t.TempDir()
			for file, content := range r.files {
				path := filepath.Join(folder, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			run := exec.Command("sh", "script")
			run.Dir = folder
			run.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "CC="+cc, "GOFLAGS=", "CGO_ENABLED=1", "XDG_CONFIG_HOME="+folder)
			run.WaitDelay = 10 * time.Second
			timer := time.AfterFunc(testneed.Patience(time.Minute), func() { _ = run.Process.Kill() })
			defer timer.Stop()
			out, _ := run.CombinedOutput() // the program's end is part of what is seen
			output := colours.ReplaceAllString(string(out), "")
			if want := r.missing(output); want != "" {
				t.Errorf("Delve no longer shows %q; mend the report, and what clew does about it:\n%s", want, output)
			}
		})
	}
}

// TestMissing: lines are looked for in their order.
func TestMissing(t *testing.T) {
	r := report{shown: []string{" 1  0x… in f", "2  0x… in g"}}
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
