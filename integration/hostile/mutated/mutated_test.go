package mutated

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/testkit"
	"github.com/clewdbg/clew/internal/testneed"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == Between {
		os.Exit(between(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// TestDamage: damage changes an input, again in the same way with the same seed, and never the original.
func TestDamage(t *testing.T) {
	whole := bytes.Repeat([]byte(`{"depth":50,"id":7}`+"\n"), 300)
	in := newInput("x", bytes.Clone(whole))
	changed := 0
	for seed := range uint64(200) {
		one, same := in.damage(rand.New(rand.NewPCG(seed, 0)), whole), in.damage(rand.New(rand.NewPCG(seed, 0)), whole)
		if !bytes.Equal(one, same) || !bytes.Equal(in.data, whole) {
			t.Fatalf("seed %d: not repeatable", seed)
		}
		if !bytes.Equal(one, whole) {
			changed++
		}
	}
	if changed < 190 {
		t.Errorf("%d of 200 changed", changed)
	}
}

// TestJudge: what counts as a failure.
func TestJudge(t *testing.T) {
	trace := "panic: x\n\ngoroutine 1 [running]:\ngithub.com/clewdbg/clew/cbf.Read()\n"
	for _, c := range []struct {
		o    outcome
		over error
		want string
	}{
		{outcome{code: 3}, nil, ""},
		{outcome{code: 1, output: "panic: of the debugged program\nmain.main()"}, nil, ""},
		{outcome{code: 2, output: trace}, nil, "panicked"},
		{outcome{code: 0, output: "recovered " + trace}, nil, ""},
		{outcome{code: -1}, nil, "exit code -1"},
		{outcome{memory: maxMemory + 1}, nil, "memory"},
		{outcome{processor: maxProcessor + 1}, nil, "processor time"},
		{outcome{}, errors.New("over"), "not over"},
	} {
		if got := c.o.judge(c.over, nil); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q", c.o, got)
		}
	}
}

// TestLimits: a command that takes too much memory fails, and one that takes little is measured.
func TestLimits(t *testing.T) {
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	was := clewPath
	defer func() { clewPath = was }()
	clewPath = "sh"
	if o := run(nil, os.Environ(), "-c", "exit 3"); o.failure != "" || o.code != 3 || o.memory == 0 || o.memory > 100<<20 {
		t.Errorf("%+v", o)
	}
	if o := run(nil, os.Environ(), "-c", "kill -9 $$"); !strings.Contains(o.failure, "exit code -1") {
		t.Errorf("%+v", o)
	}
	if o := run(nil, os.Environ(), "-c", `exec awk 'BEGIN { s = "x"; while (1) s = s s }'`); o.code == 0 || o.memory > maxMemory {
		t.Errorf("%+v", o)
	}
}

// readied is what commands run on, in a folder.
func readied(t *testing.T) (string, *prepared) {
	t.Helper()
	testneed.Platform(t, "linux/amd64")
	testneed.CC(t)
	testneed.Ptrace(t)
	folder := t.TempDir()
	clewPath = filepath.Join(folder, "clew")
	if err := testkit.BuildClew(clewPath); err != nil {
		t.Fatal(err)
	}
	p, err := prepare(folder)
	if err != nil {
		testneed.LeaveOut(t, "%v", err)
	}
	return folder, p
}

// TestCommands damages an input of each kind.
func TestCommands(t *testing.T) {
	folder, p := readied(t)
	kinds := p.kinds()
	c := &campaign{kinds: kinds, results: make([]result, len(kinds)), until: time.Second, keep: filepath.Join(folder, "kept")}
	c.run(folder, 5, 6) // most of them wait
	for i, r := range c.results {
		if r.Runs == 0 || r.Failures > 0 || r.Memory == 0 {
			reports, _ := filepath.Glob(filepath.Join(c.keep, "*.txt"))
			t.Errorf("%s: %+v %q", kinds[i].name, r, reports)
		}
	}
}
