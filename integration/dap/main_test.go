package dap

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
)

// workFolder holds the binaries under test and the programs that are debugged.
var workFolder string

func TestMain(m *testing.M) {
	if addr := os.Getenv(askEnv); addr != "" {
		ask(addr)
		return
	}
	// Where these tests run under nohup, programs that they start would ignore the signal too.
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	os.Exit(func() int {
		var err error
		if workFolder, err = os.MkdirTemp("", "clew-dap-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(workFolder)
		// The user's own configuration must not matter to the tests. Looks at the
		// program may take long on a busy machine.
		config := filepath.Join(workFolder, "config")
		if err := setUpConfig(config); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		// With CLEW_RACE=1 clew runs under the race detector, which writes its findings
		// into its standard error and ends it with exit code 66.
		flags := []string{"github.com/clewdbg/clew/cmd/clew"}
		if os.Getenv("CLEW_RACE") == "1" {
			flags = append([]string{"-race"}, flags...)
		}
		if err := buildGo(".", "clew", flags...); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

func setUpConfig(folder string) error {
	if err := os.MkdirAll(filepath.Join(folder, "clew"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "clew", "clew.json"), []byte(`{"walkTimeout": "30s", "stackTimeout": "5m"}`), 0o600); err != nil {
		return err
	}
	return os.Setenv("XDG_CONFIG_HOME", folder)
}

func binary(name string) string { return filepath.Join(workFolder, name) }

func buildGo(dir, name string, args ...string) error {
	cmd := exec.Command("go", append([]string{"build", "-o", binary(name)}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return nil
}

// buildDelve builds dlv as its own module says, which is the version that clew
// embeds.
var buildDelve = sync.OnceValue(func() error {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/go-delve/delve").Output()
	if err != nil {
		return err
	}
	return buildGo(strings.TrimSpace(string(out)), "dlv", "./cmd/dlv")
})

// peers are the two servers that are compared.
func peers(t testing.TB) (dlv, clew string) {
	t.Helper()
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	if err := buildDelve(); err != nil {
		t.Fatal(err)
	}
	return binary("dlv"), binary("clew")
}

// plainSource is a copy of the program's sources, as a module of its own.
var plainSource = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(workFolder, "plain-src")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "plain"))); err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module plain\n\ngo 1.24\n"), 0o644)
})

var buildPlain = sync.OnceValue(func() error {
	dir, err := plainSource()
	if err != nil {
		return err
	}
	return buildGo(dir, "plain", "-gcflags=all=-N -l", ".")
})

// plain is the Go program, built for debugging, and the folder of its sources.
func plain(t testing.TB) (exe, source string) {
	t.Helper()
	if err := buildPlain(); err != nil {
		t.Fatal(err)
	}
	source, err := plainSource()
	if err != nil {
		t.Fatal(err)
	}
	return binary("plain"), source
}

var builds sync.Map // variant's name to *built

type built struct {
	once sync.Once
	p    program.Program
	err  error
}

// native is the program with native code, built once for each variant.
func native(t testing.TB, name string) program.Program {
	t.Helper()
	testneed.Platform(t, "linux/amd64")
	tools := program.Tools{CC: testneed.CC(t), Strip: testneed.Tool(t, "strip")}
	v, ok := program.Named(name)
	if !ok {
		t.Fatalf("no variant %q", name)
	}
	entry, _ := builds.LoadOrStore(name, &built{})
	b := entry.(*built)
	b.once.Do(func() { b.p, b.err = v.Build(workFolder, tools) })
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.p
}
