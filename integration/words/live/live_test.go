//go:build linux

package live

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
}

// TestSameWords: text, JSON, an editor and a terminal show one stack in the same words, in
// both styles of names, and the words are right: lines of the source that are marked are
// those of the functions that are inlined there, called or stopped in.
func TestSameWords(t *testing.T) {
	exe, marks := mixed(t)
	sameAddresses(t)
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
				at.core = crash(t, exe, at.core)
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
