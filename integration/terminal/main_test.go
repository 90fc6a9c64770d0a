package terminal

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/integration/internal/scenario"
	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
)

// patience bounds one session.
const patience = 3 * time.Minute

func TestMain(m *testing.M) { testkit.Main(m, testkit.Clew, testkit.Dlv, setUp) }

// setUp keeps the user's own configuration out. Looks at the program may take long on a busy machine. One P makes
// the numbers of goroutines the same in each run.
func setUp() error {
	return errors.Join(testkit.Config(`{"walkTimeout": "30s", "stackTimeout": "2m"}`),
		os.Setenv("TERM", "dumb"), os.Setenv("NO_COLOR", "1"), os.Setenv("GOMAXPROCS", "1"))
}

func run(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	return testkit.Run(cmd)
}

func binary(name string) string { return testkit.Path(name) }

// need asks for what every test here needs.
func need(t *testing.T) {
	t.Helper()
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
}

// plain is the Go program of the editors' tests.
func plain() (string, error) {
	exe, _, err := scenario.Program("plain")
	return exe, err
}

// through is a program whose debugged C code is called by a stripped library.
func through(t *testing.T) string {
	t.Helper()
	cc, strip := testneed.CC(t), testneed.Tool(t, "strip")
	dir := t.TempDir()
	if err := testkit.Module(dir, filepath.Join("testdata", "through")); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "through")
	library := filepath.Join(dir, "libthrough.so")
	for _, args := range [][]string{
		{cc, "-x", "c", "-O2", "-g0", "-fomit-frame-pointer", "-shared", "-fPIC", "-o", library, filepath.Join(dir, "library.c.txt")},
		{strip, "-s", library},
		{"env", "CC=" + cc, "CGO_ENABLED=1", "CGO_CFLAGS=-O0 -g", "CGO_LDFLAGS=-L" + dir + " -Wl,-rpath," + dir, "go", "build", "-gcflags=all=-N -l", "-o", program, "."},
	} {
		if err := run(dir, args[0], args[1:]...); err != nil {
			t.Fatal(err)
		}
	}
	return program
}

// native is the program with native code, built once for each variant.
func native(t *testing.T, name string) program.Program { return scenario.Native(t, name) }

// session plays a script to a debugger's terminal, and returns what it wrote.
type session struct {
	tool   string   // clew or dlv
	args   []string // the command line up to the program
	target []string // the program and its arguments
	env    []string
	script []string
}

// play fails where the session does not end, or not by the script's own end.
func (s *session) play(t *testing.T) string {
	t.Helper()
	out, code := s.end(t)
	if code != 0 {
		t.Errorf("%s ends with %d:\n%s", s.tool, code, out)
	}
	return out
}

// end returns the exit code too.
func (s *session) end(t *testing.T) (out string, code int) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte(strings.Join(append(s.script, "exit"), "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	args := append(append([]string{}, s.args...), "--allow-non-terminal-interactive", "--init", script)
	if len(s.target) > 0 {
		args = append(append(args, s.target[0], "--"), s.target[1:]...)
	}
	cmd := exec.CommandContext(ctx, binary(s.tool), args...)
	cmd.Env = append(os.Environ(), s.env...)
	cmd.Stdin = strings.NewReader("n\n") // whether to kill what was attached to
	cmd.WaitDelay = 10 * time.Second
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	err := cmd.Run()
	if cmd.ProcessState == nil || ctx.Err() != nil {
		t.Fatalf("%s: %v %v:\n%s", s.tool, err, ctx.Err(), text.String())
	}
	return strings.ReplaceAll(text.String(), script, "SCRIPT"), cmd.ProcessState.ExitCode()
}
