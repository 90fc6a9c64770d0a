package integration

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
)

// TestAddressSpace: with too little address space every command ends with one line of clew's that says so; with enough it
// does its work.
func TestAddressSpace(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	run := func(kib, command string) (string, error) {
		cmd := exec.Command("sh", "-c", "ulimit -v "+kib+"; exec \"$0\" "+command, clewPath())
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, command := range []string{"version", "inspect /proc/self/exe", "stack -- /bin/true", "dap --listen=127.0.0.1:0"} {
		out, err := run("2000000", command)
		if line := "clew: the address space is limited to 1953 MiB"; err == nil || strings.Count(out, line) != 1 || strings.Contains(out, "goroutine ") {
			t.Errorf("%s: %v, %s", command, err, out)
		}
	}
	if out, err := run("3000000", "version"); err != nil || !strings.Contains(out, "Version") {
		t.Errorf("%v, %s", err, out)
	}
}

// TestFewDescriptors: with few file descriptors a stack says which strategies are missing, or one line says that there are
// too few; the same without a folder for temporary files, and with a home that is read-only.
func TestFewDescriptors(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	v := program.Variant{Name: "linked-O2-descriptors", CFlags: "-O2 -g0 -fomit-frame-pointer", Linkage: program.Linked}
	p, scenario := build(t, v), program.Scenarios[1] // through a callback
	for _, c := range []struct {
		before string
		whole  bool // every frame is found
	}{
		{"ulimit -n 12", false}, {"ulimit -n 16", false}, {"ulimit -n 20", false}, {"ulimit -n 24", false}, {"ulimit -n 32", true},
		{"export TMPDIR=/nonexistent", true}, {"export HOME=/proc", true}, {"unset HOME", true},
	} {
		stem := filepath.Join(t.TempDir(), "record")
		cmd := exec.Command("sh", "-c", c.before+`; exec "$@"`, "sh", clewPath(), "stack", "--format", "json", "--", p.Path, scenario.Name, scenario.Stop, stem)
		cmd.Env = p.Env()
		s := stopped{run(t, cmd), stem}
		if strings.Contains(s.stderr, "goroutine ") {
			t.Errorf("%s: %s", c.before, s.stderr)
		}
		switch {
		case c.whole:
			s.check(t, v, scenario.Groups)
		case s.stdout == "":
			if !strings.Contains(s.stderr, "too many open files") {
				t.Errorf("%s: %v", c.before, s.outcome)
			}
		default:
			if notes := strings.Join(s.stacks(t)[0].Notes, "\n"); !strings.Contains(notes, "too many open files") {
				t.Errorf("%s: the notes do not say what is missing: %q", c.before, notes)
			}
		}
	}
}
