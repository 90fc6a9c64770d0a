//go:build linux && (amd64 || arm64)

package matrix

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/clewdbg/clew/integration/internal/program"
)

// scanned is the name of a cell whose wrong frames all have trust "scan".
const scanned = "scanned"

// word is the cell's kind in a word.
func (c *cell) word() string {
	if c.Wrong > 0 && c.WrongAboveScan() == 0 {
		return scanned
	}
	return string(c.Kind)
}

func (c *cell) String() string {
	switch w := c.word(); w {
	case string(program.Right):
		return w
	case scanned:
		return fmt.Sprintf("%s %d/%d, %d wrong", w, c.Found, c.Truth, c.Wrong)
	default:
		return fmt.Sprintf("%s %d/%d", w, c.Found, c.Truth)
	}
}

// find returns a cell, nil if it was not measured.
func find(cells []cell, build, scenario, debugger string) *cell {
	i := slices.IndexFunc(cells, func(c cell) bool {
		return c.Build == build && c.Scenario == scenario && c.Debugger == debugger
	})
	if i < 0 {
		return nil
	}
	return &cells[i]
}

// table renders the cells as Markdown.
func table(cells []cell) string {
	var b strings.Builder
	b.WriteString("| native code | |")
	for _, c := range columns {
		fmt.Fprintf(&b, " %s |", c.Title)
	}
	fmt.Fprintf(&b, "\n|---|---|%s\n", strings.Repeat("---|", len(columns)))
	for i := range rows {
		for _, d := range debuggerNames {
			if !slices.ContainsFunc(cells, func(c cell) bool { return c.Build == rows[i].Name }) {
				continue
			}
			title := rows[i].Title
			if d != debuggerNames[0] {
				title = ""
			}
			fmt.Fprintf(&b, "| %s | %s |", title, d)
			for j := range columns {
				text := ""
				if c := find(cells, rows[i].Name, columns[j].Title, d); c != nil {
					text = c.String()
				}
				fmt.Fprintf(&b, " %s |", text)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// summary sums the cells up in words.
func summary(cells []cell, delveVersion string) string {
	var b strings.Builder
	count := func(debugger string, is func(c *cell) bool) (n, all int) {
		for i := range cells {
			if c := &cells[i]; c.Debugger == debugger {
				all++
				if is(c) {
					n++
				}
			}
		}
		return n, all
	}
	right := func(c *cell) bool { return c.Kind == program.Right }
	n, all := count("dlv", right)
	f, _ := count("dlv", func(c *cell) bool { return c.Kind == program.Right || c.Forgiven == program.Right })
	fmt.Fprintf(&b, "Delve %s is right in %d of %d cells (%d if the frame `0x0` that it shows above\n`runtime.asmcgocall` is forgiven), ", delveVersion, n, all, f)
	n, all = count("clew", right)
	d, _ := count("clew", func(c *cell) bool { return right(c) && c.Described })
	nd, _ := count("clew", func(c *cell) bool { return c.Described })
	above := 0
	for i := range cells {
		if cells[i].Debugger == "clew" {
			above += cells[i].WrongAboveScan()
		}
	}
	fmt.Fprintf(&b, "clew in %d of %d: %d of the %d with tables or\nframe pointers. %d of clew's frames with trust above `scan` are wrong.\n", n, all, d, nd, above)
	for i := range rows {
		if rows[i].Undescribed {
			b.WriteString(scanSummary(cells, &rows[i]))
		}
	}
	return b.String()
}

// scanSummary says what scanning comes to in a build with neither tables nor
// frame pointers.
func scanSummary(cells []cell, r *row) string {
	var left, found, wrong int
	for i := range cells {
		if c := &cells[i]; c.Build == r.Name && c.Debugger == "clew" {
			left += c.Truth - (c.Found - c.Scan.Found)
			found += c.Scan.Found
			wrong += c.Scan.Wrong
		}
	}
	if left == 0 {
		return fmt.Sprintf("With %s, nothing is left for `scan` to find.\n", r.Title)
	}
	return fmt.Sprintf("With %s, frames of trust `scan` are %d of the %d that nothing better finds (%.0f %%), and %d of them are wrong.\n",
		r.Title, found, left, 100*float64(found)/float64(left), wrong)
}

// The table's place in docs/accuracy.md.
const (
	beginMark = "<!-- go run ./integration/truth matrix -update -->\n"
	endMark   = "<!-- end of the matrix -->\n"
)

// cut finds the generated part of a page.
func cut(page string) (before, generated, after string, err error) {
	before, rest, ok := strings.Cut(page, beginMark)
	generated, after, ok2 := strings.Cut(rest, endMark)
	if !ok || !ok2 {
		return "", "", "", fmt.Errorf("no lines %q and %q", strings.TrimSpace(beginMark), strings.TrimSpace(endMark))
	}
	return before, generated, after, nil
}

// update writes the generated part of a page.
func update(name, generated string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, _, after, err := cut(string(data))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(name, []byte(before+beginMark+generated+endMark+after), 0o644)
}

// published reads the kinds back from a table: by build, debugger and scenario.
func published(generated string) (map[[3]string]string, error) {
	kinds := make(map[[3]string]string)
	var header []string
	build := ""
	for line := range strings.Lines(generated) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|--"):
			continue
		case header == nil:
			header = cells
			continue
		case len(cells) != len(header):
			return nil, fmt.Errorf("%d cells below %d titles: %s", len(cells), len(header), line)
		}
		if i := slices.IndexFunc(rows, func(r row) bool { return r.Title == cells[0] }); i >= 0 {
			build = rows[i].Name
		}
		for i := 2; i < len(cells); i++ {
			if word, _, _ := strings.Cut(cells[i], " "); word != "" {
				kinds[[3]string{build, cells[1], header[i]}] = word
			}
		}
	}
	if len(kinds) == 0 {
		return nil, errors.New("no table")
	}
	return kinds, nil
}
