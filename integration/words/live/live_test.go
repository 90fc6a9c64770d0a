//go:build linux

package live

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testkit"
)

// place is a line of a source file, which is named without its folder.
type place struct {
	file string
	line int
}

// row is a frame as it is shown.
type row struct {
	pc   uint64
	name string
	place
}

func (r row) String() string { return fmt.Sprintf("%#x %s %s:%d", r.pc, r.name, r.file, r.line) }

// target is how a program comes to its stop.
type target struct {
	exe, core string
	stop      string // "" of a core file
	goroutine uint64 // whose stack is shown, 0 for the one that has stopped

	// In an editor: the folder of the sources, which debugging information does not name, and a breakpoint.
	sources    string
	breakpoint place
}

// TestSameWords: text, JSON, an editor and a terminal show one stack in the same words, in
// both styles of names, and the words are right: lines of the source that are marked are
// those of the functions that are inlined there, called or stopped in.
func TestSameWords(t *testing.T) {
	exe, marks := mixed(t)
	testkit.SameAddresses(t)
	native := []string{"touch trap", "operator() lambda", "apply apply", "work work", "run run", "main main"}
	goback := []string{"reached reached", "leaf leaf", "touch touch", "operator() lambda", "apply apply", "work work", "run run", "main main and back"}
	for _, c := range []struct {
		name   string
		target target
		want   []string // functions and marks, in this order
	}{
		{"C++", target{exe: exe, stop: "native"}, native},
		{"callback", target{exe: exe, stop: "callback"}, goback},
		{"parked", target{exe: exe, stop: "parked", goroutine: parkedGoroutine}, append([]string{"callback callback"}, goback[:len(goback)-1]...)},
		{"core", target{exe: exe, core: "native"}, native},
		{"core of a callback", target{exe: exe, core: "callback"}, goback},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := c.target
			if at.core != "" {
				at.core = testkit.Core(t, nil, exe, at.core)
			}
			whole := fromJSON(t, &at)
			wantMarks(t, whole, marks, c.want)
			short := slices.Clone(whole)
			for i, r := range fromText(t, &at, "short") {
				short[min(i, len(short)-1)].name = r.name
			}
			if slices.Equal(whole, short) {
				t.Error("no name is shorter in short")
			}
			wantSame(t, "text", whole, inText, fromText(t, &at, "full"))
			wantSame(t, "terminal", whole, inTerminal, fromTerminal(t, &at, "full"))
			wantSame(t, "terminal in short", short, inTerminal, fromTerminal(t, &at, "short"))
			wantSame(t, "editor", whole, inEditor, fromEditor(t, &at, "full"))
			wantSame(t, "editor in short", short, inEditor, fromEditor(t, &at, ""))
		})
	}
}

// TestBreak: a location is every place that has it: a line within an inlined function,
// whatever it is inlined in, a name of C, and one of C++ without its arguments. Of several
// locations the first that is reached counts.
func TestBreak(t *testing.T) {
	exe, marks := mixed(t)
	line := func(mark string) string { return fmt.Sprintf("%s:%d", marks[mark].file, marks[mark].line) }
	for _, c := range []struct {
		stop      string
		locations []string
		want      []string // functions from the innermost on
	}{
		{"first", []string{line("spot")}, []string{"spot", "place"}},
		{"second", []string{line("spot")}, []string{"spot", "place"}},
		{"second", []string{line("place")}, []string{"place", "second"}},
		{"first", []string{"place"}, []string{"spot", "place", "first"}},
		{"second", []string{"place"}, []string{"place", "second"}},
		{"callback", []string{"app::Box::apply", "leaf"}, []string{"app::Box::apply", "work", "run"}},
		{"callback", []string{"leaf", "main.callback"}, []string{"leaf", "app::touch"}},
		{"callback", []string{"leaf", line("run"), "main.callback"}, []string{"run"}},
	} {
		t.Run(c.stop+" "+strings.Join(c.locations, " "), func(t *testing.T) {
			flags := []string{"--names", "short"}
			for _, location := range c.locations {
				flags = append(flags, "--break", location)
			}
			rows := textRows(t, stackOf(t, &target{exe: exe, stop: c.stop}, flags...))
			for i, name := range c.want {
				if i >= len(rows) || rows[i].name != name {
					t.Fatalf("%v, want %v", rows[:min(len(rows), 4)], c.want)
				}
			}
			if spot := marks["spot"]; c.want[0] == "spot" && (rows[0].line != spot.line || rows[1].line != marks["place"].line) {
				t.Errorf("%v, %v", rows[0], rows[1])
			}
		})
	}
}

// parkedGoroutine stands for the goroutine that is parked in the callback.
const parkedGoroutine = 1 << 63

// wantSame demands that a form shows the rows of a stack; as changes one to what the form
// can show.
func wantSame(t *testing.T, what string, want []row, as func(row) row, got []row) {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("%s: %d rows, want %d", what, len(got), len(want))
	}
	for i := range min(len(want), len(got)) {
		if w := as(want[i]); got[i] != w {
			t.Errorf("%s: row %d is %v\nwant %v", what, i, got[i], w)
		}
	}
}

// wantMarks demands that a stack has functions at lines of the source that are marked, in
// this order, and no name as Delve writes it.
func wantMarks(t *testing.T, rows []row, marks map[string]place, want []string) {
	t.Helper()
	next := 0
	var shown []string
	for _, r := range rows {
		shown = append(shown, r.String())
		if strings.HasPrefix(r.name, "C.") {
			t.Errorf("%s has Delve's name", r.name)
		}
		if next == len(want) {
			continue
		}
		function, mark, _ := strings.Cut(want[next], " ")
		if at := marks[mark]; strings.Contains(r.name, function) && filepath.Base(r.file) == at.file && r.line == at.line {
			next++
		}
	}
	if next < len(want) {
		t.Errorf("no %q at %v in its order:\n%s", want[next], marks, strings.Join(shown, "\n"))
	}
}
