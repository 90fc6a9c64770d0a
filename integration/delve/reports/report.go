package reports

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// What a report's script is called, and the folder of tools for those that were prepared.
const (
	script = "script"
	Tools  = "tools"
)

// Report is a document of docs/delve: files that it has the reader write, by name, and lines
// that Delve then shows, in this order among others. An ellipsis stands for any text.
type Report struct {
	Arch  string // the architecture that it is about
	Files map[string]string
	Shown []string
}

var (
	fileBlock  = regexp.MustCompile("(?s)\n`([^`\n]+)`\n\n```[a-z]*\n(.*?)```\n")
	platform   = regexp.MustCompile(`linux/(amd64|arm64)`)
	shownBlock = regexp.MustCompile("(?s)\n## What is seen\n.*?\n```\n(.*?)```\n")
)

// Read reads a document.
func Read(name string) (*Report, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	r := &Report{Files: make(map[string]string)}
	for _, m := range fileBlock.FindAllSubmatch(text, -1) {
		r.Files[string(m[1])] = string(m[2])
	}
	shown, on := shownBlock.FindSubmatch(text), platform.FindSubmatch(text)
	if shown == nil || on == nil || r.Files[script] == "" {
		return nil, fmt.Errorf("%s: no platform, no script, or nothing that is seen", name)
	}
	r.Arch, r.Shown = string(on[1]), strings.Split(strings.TrimSpace(string(shown[1])), "\n")
	return r, nil
}

// Write writes its files into a folder.
func (r *Report) Write(folder string) error {
	for name, content := range r.Files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// missing returns the first line that is not shown, or not in its place; "" for none.
func (r *Report) missing(output string) string {
	rest := strings.Split(output, "\n")
	for _, want := range r.Shown {
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
