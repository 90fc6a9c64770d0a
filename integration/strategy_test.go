package integration

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNewStrategyIsOneLine adds a strategy to clew: a folder in plugins/ and a
// line in the registry, laid over this tree for one build. The plugin list shows
// it at its rank, and a process of its own serves it.
func TestNewStrategyIsOneLine(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	const line = "strategy(unwind.StrategyScan, scan.New, nil),"
	registry := read("cmd/clew/builtins.go")
	changed := strings.Replace(registry, line, `strategy("framechain", func() *framechain.Unwinder { return new(framechain.Unwinder) }, nil), `+line, 1)
	changed = strings.Replace(changed, "import (", "import (\n\t\"github.com/clewdbg/clew/plugins/framechain\"", 1)
	if changed == registry || !strings.Contains(changed, `"framechain"`) {
		t.Fatal("the registry has another form")
	}
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{make(map[string]string)}
	for name, text := range map[string]string{
		"cmd/clew/builtins.go":             changed,
		"plugins/framechain/framechain.go": read("unwind/plugin/example/framechain/framechain.go"),
	} {
		file := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(root, name)] = file
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list, clew := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "clew")
	if err := os.WriteFile(list, text, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-overlay", list, "-o", clew, "./cmd/clew")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build with a new strategy: %v\n%s", err, out)
	}
	o := run(t, exec.Command(clew, "plugins")).want(t, done)
	inOrder(t, o, "dwarfcfi", "fpwalk", "framechain", "scan")
}
