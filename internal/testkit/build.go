package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/clewdbg/clew/"

// folder is the work folder of this process's tests.
var folder string

// Main is a TestMain's last call: it makes a work folder, prepares the tests in it, and runs them.
func Main(m *testing.M, prepare ...func() error) {
	os.Exit(func() int {
		var err error
		// Sockets are made in it, whose paths must be short.
		if folder, err = os.MkdirTemp("", "clew-t-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(folder)
		// Other users run what is built here, too.
		if err := os.Chmod(folder, 0o755); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		for _, p := range prepare {
			if err := p(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
		return m.Run()
	}())
}

// Path is a name in the work folder.
func Path(name string) string { return filepath.Join(folder, name) }

// Clew puts clew into the work folder.
func Clew() error { return BuildClew(Path("clew")) }

// Dlv puts dlv into the work folder.
func Dlv() error { return BuildDlv(Path("dlv")) }

// Once returns what make made when it was called first with this name. A name stands for one type.
func Once[T any](name string, make func() (T, error)) (T, error) {
	made, _ := once.LoadOrStore(name, sync.OnceValues(make))
	return made.(func() (T, error))()
}

var once sync.Map // by name: func() (T, error)

// Config keeps the user's own configuration out: what this process starts has the settings, in JSON.
func Config(settings string) error {
	folder := Path("config")
	if err := os.MkdirAll(filepath.Join(folder, "clew"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "clew", "clew.json"), []byte(settings), 0o600); err != nil {
		return err
	}
	return os.Setenv("XDG_CONFIG_HOME", folder)
}

// Module copies a program's sources, and makes them a module of the folder's name.
func Module(to, from string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "go.mod"), []byte("module "+filepath.Base(from)+"\n\ngo 1.24\n"), 0o644)
}

// BuildClew puts clew into a file. With CLEW_RACE=1 it runs under the race detector, which writes its findings into its
// standard error and ends it with exit code 66.
func BuildClew(to string) error {
	if os.Getenv("CLEW_RACE") == "1" {
		return copied("", to, module+"cmd/clew", "-race")
	}
	return copied("", to, module+"cmd/clew")
}

// BuildDlv puts Delve's own commands into a file, at the version that clew is built with, and with the modules that clew has.
func BuildDlv(to string) error {
	return copied("", to, module+"integration/internal/dlv", noRace)
}

// BuildDlvAlone puts Delve's program into a file, built as its own module says: with its own versions of what it needs.
func BuildDlvAlone(to string) error {
	source, err := Delve()
	if err != nil {
		return err
	}
	return copied(source, to, "./cmd/dlv", noRace)
}

// Delve is the folder of the module that clew embeds.
func Delve() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/go-delve/delve").Output()
	return strings.TrimSpace(string(out)), err
}

// noRace keeps GOFLAGS=-race for clew: what it is compared with is as it comes.
const noRace = "-race=false"

// copied puts a command into a file. The tests of all packages ask for the same few: the go command keeps what `go run` has
// linked, and links it once for all of them.
func copied(folder, to, pkg string, flags ...string) error {
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	return GoIn(folder, nil, append(append([]string{"run"}, flags...), "-exec", "cp", pkg, to)...)
}

// Go runs the go command in the current folder.
func Go(args ...string) error { return GoIn("", nil, args...) }

// GoIn runs the go command in a folder, with more in its environment.
func GoIn(folder string, env []string, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), env...)
	return Run(cmd)
}

// Run runs a command, whose output is in the error.
func Run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}

// Root is the folder of clew's module.
func Root() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	return strings.TrimSpace(string(out)), err
}
