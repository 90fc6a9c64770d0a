package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// goTest runs go test on a module of its own with one test file.
func goTest(t *testing.T, body string) (*report, *strings.Builder) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":     "module example.com/m\n\ngo 1.24\n",
		"m_test.go":  "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _ = os.Exit\n\n" + body,
		"empty/e.go": "package empty\n",
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
	out := &strings.Builder{}
	r := newReport(out)
	if err := test(r, []string{"./..."}); err != nil {
		t.Fatal(err)
	}
	if err := again(r); err != nil {
		t.Fatal(err)
	}
	return r, out
}

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		name, body string
		ok, okInCI bool
		prints     []string
	}{
		{
			name: "all pass", ok: true, okInCI: true,
			body:   `func TestA(t *testing.T) { t.Run("x", func(t *testing.T) { t.Log("quiet") }) }`,
			prints: []string{"ok  \texample.com/m", "tests: 2 passed, 0 failed, 0 skipped\n"},
		},
		{
			name: "left out by testneed", ok: true, okInCI: false,
			body:   `func TestA(t *testing.T) {}; func TestB(t *testing.T) { t.Skip("` + testneed.LeftOut + `no anvil") }`,
			prints: []string{"LEFT OUT: no anvil\n    example.com/m.TestB\n", "tests: 1 passed, 0 failed, 1 skipped\n"},
		},
		{
			name: "skipped without testneed", ok: true, okInCI: false,
			body:   `func TestA(t *testing.T) {}; func TestB(t *testing.T) { t.Run("s", func(t *testing.T) { t.Skip("why not") }) }`,
			prints: []string{"why not\n    example.com/m.TestB/s\n", "tests: 2 passed, 0 failed, 1 skipped\n"},
		},
		{
			name:   "fails",
			body:   `func TestA(t *testing.T) {}; func TestB(t *testing.T) { t.Error("two is not one") }`,
			prints: []string{"two is not one", "--- FAIL: TestB", "FAIL\texample.com/m", "tests: 1 passed, 1 failed, 0 skipped\n"},
		},
		{
			name:   "panics",
			body:   `func TestA(t *testing.T) {}; func TestB(t *testing.T) { panic("overboard") }`,
			prints: []string{"overboard", "tests: 1 passed, 1 failed, 0 skipped\n"},
		},
		{
			name:   "dies without a word",
			body:   `func TestA(t *testing.T) {}; func TestB(t *testing.T) { os.Exit(3) }`,
			prints: []string{"FAIL\texample.com/m", "tests: 1 passed, 1 failed, 0 skipped\n"},
		},
		{
			name:   "fails outside any test",
			body:   `func TestA(t *testing.T) {}; func TestMain(m *testing.M) { m.Run(); os.Exit(1) }`,
			prints: []string{"FAIL\texample.com/m"},
		},
		{
			name:   "does not compile",
			body:   `func TestA(t *testing.T) { undefinedThing() }`,
			prints: []string{"undefined: undefinedThing", "[build failed]"},
		},
		{
			name:   "no test",
			body:   `func notATest() {}`,
			prints: []string{"no test ran"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, out := goTest(t, c.body)
			if got := r.conclude(false); got != c.ok {
				t.Errorf("ok %v, want %v", got, c.ok)
			}
			for _, want := range c.prints {
				if !strings.Contains(out.String(), want) {
					t.Errorf("does not print %q", want)
				}
			}
			if strings.Contains(out.String(), "quiet") {
				t.Error("prints what a passing test logs")
			}
			if got := r.conclude(true); got != c.okInCI {
				t.Errorf("in CI: ok %v, want %v", got, c.okInCI)
			}
			if t.Failed() {
				t.Logf("printed:\n%s", out)
			}
		})
	}
}

func TestNothingToTestIsAnError(t *testing.T) {
	t.Chdir(t.TempDir()) // no module
	t.Setenv("GOWORK", "off")
	r := newReport(&strings.Builder{})
	err := test(r, []string{"./..."})
	if err == nil && r.conclude(false) {
		t.Error("go test in a folder without a module counts as success")
	}
}

func TestLinesThatAreNoEventsPassThrough(t *testing.T) {
	out := &strings.Builder{}
	if err := newReport(out).read(strings.NewReader("{\"a\":1}\nplain, no end")); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "{\"a\":1}\nplain, no end"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

func TestInstallNamesThePackages(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var list []missing
	for _, n := range testneed.Needs {
		list = append(list, missing{need: n})
	}
	err := installDebian(list)
	if err == nil {
		t.Fatal("installed without apt-get")
	}
	for _, n := range testneed.Needs {
		for _, p := range n.Debian {
			if !strings.Contains(err.Error(), p) {
				t.Errorf("%s is not named: %v", p, err)
			}
		}
	}
}
