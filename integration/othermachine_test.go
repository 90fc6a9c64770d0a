package integration

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
)

// TestCoreOfOtherMachine: the core file of a program whose libraries are not on this machine.
// They are found below --sysroot or by debuginfod; one of another build is not used. The
// core file is compressed each time in another way, as systemd-coredump does.
func TestCoreOfOtherMachine(t *testing.T) {
	v := variantNamed(t, "linked-O2-omit-stripped")
	p := build(t, v)
	scenario := program.Scenarios[slices.IndexFunc(program.Scenarios, func(s program.Scenario) bool { return s.Name == "nested" })]
	core, stem := dump(t, p, scenario.Name)
	list := func(t *testing.T, core string, flags ...string) outcome {
		t.Helper()
		return clew(t, append(append([]string{"stack", "--core", core, "--goroutine", "current", "--format", "json"}, flags...), p.Path)...)
	}
	libraries := imagesOf(t, list(t, core))

	whole := t.TempDir()
	for path := range libraries {
		copyBelow(t, whole, path, path)
	}
	t.Run("sysroot", func(t *testing.T) {
		stopped{list(t, packed(t, core, "zstd"), "--sysroot", whole), stem}.check(t, v, scenario.Groups)
	})
	t.Run("nothing there", func(t *testing.T) {
		o := list(t, packed(t, core, "lz4"), "--sysroot", t.TempDir())
		if notes := strings.Join(o.stacks(t)[0].Notes, "\n"); !strings.Contains(notes, "there is no ") || !strings.Contains(notes, filepath.Base(p.Library)) {
			t.Errorf("notes: %s", notes)
		}
	})
	t.Run("another build", func(t *testing.T) {
		wrong := t.TempDir()
		for path := range libraries {
			copyBelow(t, wrong, path, path)
		}
		other := build(t, variantNamed(t, "linked-O2-fp-stripped"))
		copyBelow(t, wrong, p.Library, other.Library)
		o := list(t, core, "--sysroot", wrong)
		if notes := strings.Join(o.stacks(t)[0].Notes, "\n"); !strings.Contains(notes, filepath.Join(wrong, p.Library)+" is another build") {
			t.Errorf("notes: %s", notes)
		}
	})
	t.Run("debuginfod", func(t *testing.T) {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for path, id := range libraries {
				if id != "" && strings.Contains(r.URL.Path, id) && strings.HasSuffix(r.URL.Path, "/executable") {
					asked++
					http.ServeFile(w, r, path)
					return
				}
			}
			http.NotFound(w, r)
		}))
		defer server.Close()
		debuginfodAt(t, server.URL)
		stopped{list(t, packed(t, core, "xz"), "--sysroot", t.TempDir()), stem}.check(t, v, scenario.Groups)
		if asked == 0 {
			t.Error("the server was not asked")
		}
	})
	clew(t, "stack", "--sysroot", whole, "--", p.Path).oneLine(t, usage, "--sysroot is for --core")
}

// packed compresses a file beside it.
func packed(t *testing.T, path, tool string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "core."+tool)
	file, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c := exec.Command(testneed.Tool(t, tool), "-c", path)
	c.Stdout = file
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	return out
}

// imagesOf maps the paths of the libraries that stacks go through to their build IDs.
func imagesOf(t *testing.T, o outcome) map[string]string {
	t.Helper()
	var answer struct {
		Images []struct{ Path, BuildID string }
	}
	if err := json.Unmarshal([]byte(o.stdout), &answer); err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string)
	for _, img := range answer.Images {
		if strings.Contains(img.Path, ".so") {
			out[img.Path] = img.BuildID
		}
	}
	if len(out) == 0 {
		t.Fatal("the stack goes through no library")
	}
	return out
}

// copyBelow copies a file to a path below a folder.
func copyBelow(t *testing.T, root, path, from string) {
	t.Helper()
	to := filepath.Join(root, path)
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
