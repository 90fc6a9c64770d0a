package fuzz

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestJudge(t *testing.T) {
	const progress = "fuzz: elapsed: 0s, gathering baseline coverage: 3/3 completed, now fuzzing with 2 workers\n" +
		"fuzz: elapsed: 3s, execs: 12345 (4115/sec), new interesting: 1 (total: 4)\n"
	failed := errors.New("exit status 1")
	for name, c := range map[string]struct {
		out      string
		err      error
		crashers int
		ok       bool
	}{
		"passes":           {out: progress + "PASS\nok  \texample.com/m\t3.1s\n", ok: true},
		"deadline":         {out: progress + "--- FAIL: FuzzX (3.02s)\n    context deadline exceeded\nFAIL\nexit status 1\nFAIL\texample.com/m\t3.1s\n", err: failed, ok: true},
		"deadline crasher": {out: progress + "--- FAIL: FuzzX (3.02s)\n    context deadline exceeded\nFAIL\n", err: failed, crashers: 1},
		"crasher":          {out: progress + "--- FAIL: FuzzX\n    panic: x\n    Failing input written to testdata/fuzz/FuzzX/1\nFAIL\n", err: failed, crashers: 1},
		"seed fails":       {out: progress + "--- FAIL: FuzzX\n    x_test.go:3: wrong\nFAIL\n", err: failed},
		"does not build":   {out: "x_test.go:3: undefined: y\nFAIL\texample.com/m [build failed]\n", err: failed},
		"nothing executed": {out: "PASS\nok  \texample.com/m\t3.1s\n"},
	} {
		if o := judge(target{name: "FuzzX"}, c.out, c.err, c.crashers); (o.failure == "") != c.ok {
			t.Errorf("%s: %v", name, o)
		}
	}
}

// TestRun runs a good and a bad target of a module of its own.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":       "module example.com/m\n\ngo 1.24\n",
		"a/a_test.go":  "package a\n\nimport \"testing\"\n\nfunc FuzzGood(f *testing.F) { f.Fuzz(func(t *testing.T, b []byte) {}) }\n",
		"b/b_test.go":  "package b_test\n\nimport \"testing\"\n\nfunc FuzzBad(f *testing.F) {\n\tf.Add([]byte(\"xy\"))\n\tf.Fuzz(func(t *testing.T, b []byte) {\n\t\tif len(b) > 3 {\n\t\t\tpanic(\"found\")\n\t\t}\n\t})\n}\n",
		"b/package.go": "package b\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOWORK", "off")
	for match, want := range map[string]bool{`/a\.FuzzGood$`: true, `/b\.FuzzBad$`: false} {
		if ok, err := run(2*time.Second, regexp.MustCompile(match), nil); err != nil || ok != want {
			t.Errorf("%s: %v, %v; want %v", match, ok, err, want)
		}
	}
	if kept, err := os.ReadDir(filepath.Join(dir, "b", "testdata", "fuzz", "FuzzBad")); err != nil || len(kept) == 0 {
		t.Errorf("the failing input is not kept: %v", err)
	}
	if _, err := run(time.Second, regexp.MustCompile("none"), nil); err == nil || !strings.Contains(err.Error(), "no target") {
		t.Errorf("no target: %v", err)
	}
}
