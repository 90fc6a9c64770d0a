package terminal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
)

// workFolder holds the binaries under test and the programs that are debugged.
var workFolder string

// patience bounds one session.
const patience = 3 * time.Minute

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if workFolder, err = os.MkdirTemp("", "clew-t-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(workFolder)
		if err := setUp(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// setUp keeps the user's own configuration out, and builds clew and dlv. Looks at
// the program may take long on a busy machine.
func setUp() error {
	config := filepath.Join(workFolder, "config")
	if err := os.MkdirAll(filepath.Join(config, "clew"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(config, "clew", "clew.json"), []byte(`{"walkTimeout": "30s", "stackTimeout": "2m"}`), 0o600); err != nil {
		return err
	}
	// One P makes the numbers of goroutines the same in each run.
	for name, value := range map[string]string{"XDG_CONFIG_HOME": config, "TERM": "dumb", "NO_COLOR": "1", "GOMAXPROCS": "1"} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return run(".", "go", "build", "-o", workFolder+string(filepath.Separator), "github.com/clewdbg/clew/cmd/clew", "github.com/clewdbg/clew/integration/internal/dlv")
}

func run(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}

func binary(name string) string { return filepath.Join(workFolder, name) }

// need asks for what every test here needs.
func need(t *testing.T) {
	t.Helper()
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
}

// plain is the Go program of the editors' tests.
var plain = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(workFolder, "plain-src")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "dap", "testdata", "plain"))); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module plain\n\ngo 1.24\n"), 0o600); err != nil {
		return "", err
	}
	return binary("plain"), run(dir, "go", "build", "-gcflags=all=-N -l", "-o", binary("plain"), ".")
})

// through is a program whose debugged C code is called by a stripped library.
func through(t *testing.T) string {
	t.Helper()
	cc, strip := testneed.CC(t), testneed.Tool(t, "strip")
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "through"))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module through\n\ngo 1.24\n"), 0o600); err != nil {
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

var builds sync.Map // variant's name to func() (program.Program, error)

// native is the program with native code, built once for each variant.
func native(t *testing.T, name string) program.Program {
	t.Helper()
	tools := program.Tools{CC: testneed.CC(t), Strip: testneed.Tool(t, "strip")}
	for _, v := range program.Variants {
		if v.Name != name {
			continue
		}
		build, _ := builds.LoadOrStore(name, sync.OnceValues(func() (program.Program, error) { return v.Build(workFolder, tools) }))
		p, err := build.(func() (program.Program, error))()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	t.Fatalf("no variant %q", name)
	return program.Program{}
}

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
