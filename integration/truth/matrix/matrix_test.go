//go:build linux && (amd64 || arm64)

package matrix

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
)

// fewStops is how many stops of a cell the test measures; the command does all.
const fewStops = 2

// TestMatrix measures a part of the matrix: every build, every scenario in some
// of them. No frame above scan may be wrong, native code with tables or frame
// pointers has right stacks, and the table in docs/accuracy.md is of the same kind.
func TestMatrix(t *testing.T) {
	testneed.Ptrace(t)
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "accuracy.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, generated, _, err := cut(string(page))
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := published(generated)
	if err != nil {
		t.Fatal(err)
	}
	b, err := newBench(t.TempDir(), &options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		r := &rows[i]
		if !(&options{}).wants(r) {
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			tools, err := r.Tools()
			if err != nil {
				testneed.LeaveOut(t, "%v", err)
			}
			p, err := r.Build(b.folder, tools)
			if err != nil {
				t.Fatal(err)
			}
			for n, c := range few(i) {
				for _, d := range b.debuggers(&options{}) {
					if d.name == debuggerNames[0] && n > 0 {
						continue // one of Delve's is enough to see that the table is still true
					}
					c.Places = c.Places[:min(fewStops, len(c.Places))]
					got, err := b.measure(r, p, &c, &d)
					if err != nil {
						t.Error(err)
						continue
					}
					check(t, &got, kinds[[3]string{r.Name, d.name, c.Title}])
				}
			}
		})
	}
}

// few selects columns for row i: over all rows, every column comes.
func few(i int) (selected []column) {
	const each = 4
	for n, c := range columns {
		if c.in(&rows[i]) && (c.For != nil || (n+i)%each == 0) {
			selected = append(selected, c)
		}
	}
	return selected
}

func check(t *testing.T, c *cell, want string) {
	t.Helper()
	bad := func(format string, a ...any) {
		t.Helper()
		t.Errorf("%s, %s: %v, "+format+"\n  %s", append(append([]any{c.Scenario, c.Debugger, c}, a...), strings.Join(c.Reasons, "\n  "))...)
	}
	clew := c.Debugger == debuggerNames[1]
	switch {
	case clew && c.WrongAboveScan() > 0:
		bad("and its wrong frames say that they are more than scanned for")
	case clew && c.Described && c.Kind != program.Right:
		bad("where there are tables or frame pointers")
	case want == "":
		bad("and docs/accuracy.md has no such cell")
	case clew && !c.Described && want != string(program.Right):
		// Results without tables and frame pointers may get better.
	case c.word() != want && len(columnNamed(c.Scenario).Places) > fewStops && c.word() == string(program.Right):
		// The first stops are right, others are not.
	case c.word() != want:
		bad("docs/accuracy.md says %s: run the command with -update", want)
	}
}

func columnNamed(title string) *column {
	for i := range columns {
		if columns[i].Title == title {
			return &columns[i]
		}
	}
	return nil
}

// TestFew: the test's selection leaves no scenario out.
func TestFew(t *testing.T) {
	seen := make(map[string]int)
	for i := range rows {
		if !(&options{}).wants(&rows[i]) {
			continue
		}
		for _, c := range few(i) {
			seen[c.Title]++
		}
	}
	for _, c := range columns {
		if seen[c.Title] == 0 {
			t.Errorf("no build is tested with %q", c.Title)
		}
	}
}

// TestPublished: a written table can be read back.
func TestPublished(t *testing.T) {
	cells := []cell{
		{Build: rows[1].Name, Scenario: "call", Debugger: "dlv", Score: program.Score{Kind: program.Wrong, Wrong: 2, Found: 3, Truth: 4}},
		{Build: rows[1].Name, Scenario: "PLT", Debugger: "clew", Score: program.Score{Kind: program.Right}},
		{Build: rows[3].Name, Scenario: "call", Debugger: "clew", Score: program.Score{Kind: program.Truncated, Found: 3, Truth: 4}},
		{Build: rows[3].Name, Scenario: "nested", Debugger: "clew", Score: program.Score{Kind: program.Wrong, Wrong: 1}},
	}
	cells[3].Scan.Wrong = 1
	name := filepath.Join(t.TempDir(), "accuracy.md")
	if err := os.WriteFile(name, []byte("before\n"+beginMark+"old\n"+endMark+"after\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := update(name, table(cells)+"\n"+summary(cells, "1.2.3")); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, generated, after, err := cut(string(data))
	if err != nil || before != "before\n" || after != "after\n" || strings.Contains(generated, "old") {
		t.Fatalf("%v in %q", err, data)
	}
	kinds, err := published(generated)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"wrong", "right", "truncated", scanned} {
		if c := &cells[i]; kinds[[3]string{c.Build, c.Debugger, c.Scenario}] != want {
			t.Errorf("%s, %s: read back as %q, want %q", c.Build, c.Scenario, kinds[[3]string{c.Build, c.Debugger, c.Scenario}], want)
		}
	}
	if len(kinds) != len(cells) {
		t.Errorf("%d cells read back, want %d: %v", len(kinds), len(cells), kinds)
	}
	for _, bad := range []string{"", "no table", beginMark} {
		if _, _, _, err := cut(bad); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

// TestKnown: every build can be named, and a name that no build has is refused.
func TestKnown(t *testing.T) {
	for build, want := range map[string]bool{"": true, "eh-so,none": true, "eh-so,nothing": false, "nothing": false} {
		o := options{build: build}
		if err := o.known(); (err == nil) != want {
			t.Errorf("%q: %v", build, err)
		}
	}
	o := options{build: "eh-so,pac-g", arm64: "folder"}
	if err := o.known(); err != nil {
		t.Error(err)
	}
}
