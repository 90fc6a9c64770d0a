//go:build linux

package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testneed"
)

// workFolder holds the clew under test and the program that it debugs. Its path
// is short: sockets lie below it.
var workFolder string

func clewPath() string    { return filepath.Join(workFolder, "clew") }
func patientPath() string { return filepath.Join(workFolder, "patient") }

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if workFolder, err = os.MkdirTemp("", "clew-f-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(workFolder)
		if err := goBuild(clewPath(), "github.com/clewdbg/clew/cmd/clew"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

func goBuild(output, pkg string, env ...string) error {
	cmd := exec.Command("go", "build", "-o", output, pkg)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return nil
}

var buildPatient = sync.OnceValue(func() error {
	cc, err := testneed.Compiler.Find()
	if err != nil {
		return err
	}
	return goBuild(patientPath(), "./testdata/patient", "CGO_ENABLED=1", "CC="+cc, "GOFLAGS=")
})

// need asks for what every test here needs, and builds the program.
func need(t testing.TB) {
	t.Helper()
	testneed.Platform(t, "linux/amd64") // the program's int3
	testneed.CC(t)
	testneed.Ptrace(t)
	if err := buildPatient(); err != nil {
		t.Fatal(err)
	}
}

// random is a generator for one test, which logs its seed.
func random(t testing.TB) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("CLEW_FAULT_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("CLEW_FAULT_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// moment is a random time within span.
func moment(r *rand.Rand, span time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(span) + 1))
}

// rounds is how often a test tries another moment.
func rounds(n int) int {
	if testing.Short() {
		return max(1, n/5)
	}
	return n
}
