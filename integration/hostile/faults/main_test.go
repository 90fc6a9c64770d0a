//go:build linux

package faults

import (
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
)

func clewPath() string    { return testkit.Path("clew") }
func patientPath() string { return testkit.Path("patient") }

func TestMain(m *testing.M) { testkit.Main(m, testkit.Clew) }

var buildPatient = sync.OnceValue(func() error {
	cc, err := testneed.Compiler.Find()
	if err != nil {
		return err
	}
	return testkit.GoIn("", []string{"CGO_ENABLED=1", "CC=" + cc, "GOFLAGS="}, "build", "-o", patientPath(), "./testdata/patient")
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
