package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestLostLibrary: a library that was deleted or replaced while it was loaded is
// unwound by the rest of it (kept by the kernel, or in memory), never by the
// file that is at its path now, and the stacks say so. Its frames have tables and
// no frame pointers.
func TestLostLibrary(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	v := variantNamed(t, "linked-O2-omit-stripped")
	foreign := build(t, variantNamed(t, "linked-O1-g-fp")).Library
	for _, c := range []struct {
		name  string
		lose  func(t *testing.T, library string)
		words string
	}{
		{"deleted", func(t *testing.T, library string) {}, "was deleted after it was loaded"},
		{"replaced", func(t *testing.T, library string) { copyFile(t, library, foreign) }, "was replaced after it was loaded"},
	} {
		for _, user := range []string{"root", "nobody"} {
			t.Run(c.name+"-"+user, func(t *testing.T) {
				mine := v
				mine.Name += "-" + c.name + "-" + user
				p := build(t, mine)
				var k parked
				if user == "root" {
					k = park(t, p, "syscall")
				} else {
					k = parkProgramAs(t, p, "many")
				}
				if err := os.Remove(p.Library); err != nil {
					t.Fatal(err)
				}
				c.lose(t, p.Library)
				clew := func(args ...string) outcome {
					cmd := exec.Command(clewPath(), args...)
					if user != "root" {
						cmd = as(nobody, cmd)
					}
					return run(t, cmd)
				}
				o := clew(k.args("--thread", "all", "--format", "json")...)
				report(t, k.check(t, v, o.stacks(t), "syscall", 2), "")
				named := 0
				for _, s := range o.stacks(t) {
					if slices.Contains(k.threads, s.Thread) && strings.Contains(strings.Join(s.Notes, "\n"), p.Library+" "+c.words) {
						named++
					}
				}
				if named != 2 {
					t.Errorf("%d stacks name the library: %v", named, o)
				}
				k.goesOn(t)

				file := filepath.Join(filepath.Dir(k.stem), "stop.json")
				clew(k.args("--thread", itoa(k.threads[0]), "--format", "snapshot", "-o", file)...).want(t, done)
				if c.name == "replaced" {
					return // offline the file at the path is refused by its build ID, if it has one
				}
				stacks := clew("unwind", file).want(t, done).stacks(t)
				report(t, k.check(t, v, stacks, "syscall", 1), "")
			})
		}
	}
}

// TestLostProgram: the same for the program itself, which is read as
// /proc/PID/exe: Go's functions need its tables.
func TestLostProgram(t *testing.T) {
	v := variantNamed(t, "static-O1-g-fp")
	mine := v
	mine.Name += "-lost"
	p := build(t, mine)
	k := park(t, p, "syscall")
	if err := os.Remove(p.Path); err != nil {
		t.Fatal(err)
	}
	o := clew(t, k.args("--thread", "all", "--format", "json")...)
	report(t, k.check(t, v, o.stacks(t), "syscall", 2), "")
	if !strings.Contains(o.stdout, p.Path+" was deleted after it was loaded") {
		t.Errorf("nothing says that the program is gone: %v", o)
	}
}
