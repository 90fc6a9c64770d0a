package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
)

// split moves a library's debugging information into a file of its own in a
// folder, and strips the library.
func split(t testing.TB, library, folder string) (debug string) {
	t.Helper()
	objcopy, strip := testneed.Tool(t, "objcopy"), testneed.Tool(t, "strip")
	debug = filepath.Join(folder, filepath.Base(library)+".debug")
	for _, cmd := range [][]string{
		{objcopy, "--only-keep-debug", library, debug},
		{strip, "-s", library},
		{objcopy, "--add-gnu-debuglink=" + debug, library},
	} {
		if out, err := exec.Command(cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", cmd, err, out)
		}
	}
	return debug
}

// TestDebugFile: a library without frame pointers whose only tables are the
// .debug_frame of its separate debug file is unwound, and its static functions
// have names; without the file, or with that of another build, no frame is wrong.
func TestDebugFile(t *testing.T) {
	v := program.Variant{Name: "linked-O2-debugframe", CFlags: "-O2 -g -fomit-frame-pointer -fno-asynchronous-unwind-tables", Linkage: program.Linked}
	other := v
	other.Name, other.CFlags = "linked-O2-otherbuild", v.CFlags+" -fno-inline -fcf-protection=none"
	p, q := build(t, v), build(t, other)
	away := t.TempDir()
	debug, wrong := split(t, p.Library, away), split(t, q.Library, t.TempDir())
	beside := filepath.Join(filepath.Dir(p.Library), filepath.Base(debug))
	scenario := program.Scenarios[1] // through a callback

	t.Run("without", func(t *testing.T) {
		blind := v
		blind.Undescribed = true
		launch(t, p, scenario.Name, scenario.Stop, "--format", "json").check(t, blind, scenario.Groups)
	})
	t.Run("another build's", func(t *testing.T) {
		blind := v
		blind.Undescribed = true
		copyFile(t, beside, wrong)
		s := launch(t, p, scenario.Name, scenario.Stop, "--format", "json")
		s.check(t, blind, scenario.Groups)
		if notes := strings.Join(s.stacks(t)[0].Notes, "\n"); !strings.Contains(notes, beside) || !strings.Contains(notes, "another build") {
			t.Errorf("the notes do not name the file: %q", notes)
		}
	})
	t.Run("right", func(t *testing.T) {
		copyFile(t, beside, debug)
		s := launch(t, p, scenario.Name, scenario.Stop, "--format", "json")
		s.check(t, v, scenario.Groups)
		named := 0
		for _, f := range s.stacks(t)[0].Frames {
			if f.Image != p.Library {
				continue
			}
			named++
			if f.Function == "" || !strings.HasSuffix(f.File, "native.c") || f.Line == 0 {
				t.Errorf("frame %d is %q in %s:%d", f.Index, f.Function, f.File, f.Line)
			}
		}
		if named < 2 {
			t.Errorf("%d frames in the library", named)
		}
		for _, n := range s.stacks(t)[0].Notes {
			t.Errorf("note: %s", n)
		}
	})
	t.Run("snapshot", func(t *testing.T) {
		copyFile(t, beside, debug)
		file := filepath.Join(t.TempDir(), "stop.json")
		launch(t, p, scenario.Name, scenario.Stop, "--format", "snapshot", "-o", file).want(t, done)
		clew(t, "unwind", file).want(t, done)
	})
	t.Run("configured folder", func(t *testing.T) {
		if err := os.Remove(beside); err != nil {
			t.Fatal(err)
		}
		folder := t.TempDir()
		copyFile(t, filepath.Join(folder, p.Library+".debug"), debug)
		config := filepath.Join(folder, "clew.json")
		write(t, config, []byte(`{"debugFolders":["`+folder+`"]}`))
		launch(t, p, scenario.Name, scenario.Stop, "--format", "json", "--clew-config", config).check(t, v, scenario.Groups)
	})
}

func copyFile(t testing.TB, to, from string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	write(t, to, data)
}
