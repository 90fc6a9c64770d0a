package dap

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/integration/internal/scenario"
	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
)

func TestMain(m *testing.M) {
	if addr := os.Getenv(askEnv); addr != "" {
		ask(addr)
		return
	}
	// Where these tests run under nohup, programs that they start would ignore the signal too.
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	// Looks at the program may take long on a busy machine. The user's own configuration must not matter to the tests.
	testkit.Main(m, testkit.Clew, func() error { return testkit.Config(`{"walkTimeout": "30s", "stackTimeout": "5m"}`) })
}

// binary is one under test, or a program that is debugged.
func binary(name string) string { return testkit.Path(name) }

func buildGo(dir, name string, args ...string) error {
	return testkit.GoIn(dir, nil, append([]string{"build", "-o", binary(name)}, args...)...)
}

var buildDelve = sync.OnceValue(func() error { return testkit.BuildDlvAlone(binary("dlv")) })

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

// plain is the Go program, built for debugging, and the folder of its sources.
func plain(t testing.TB) (exe, source string) {
	t.Helper()
	exe, source, err := scenario.Program("plain")
	if err != nil {
		t.Fatal(err)
	}
	return exe, source
}

// native is the program with native code, built once for each variant.
func native(t testing.TB, name string) program.Program { return scenario.Native(t, name) }
