//go:build linux && amd64

package places

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestServer steps out of every scene as a client of `clew exec --headless` does,
// which is Delve's server over clew's stacks: the terminal's server. Each step ends in the
// very next frame: integration/stepping/scripts has those that pass through glue.
func TestServer(t *testing.T) {
	p := need(t, "linked-g-called-by-notables")
	path := filepath.Join(workFolder, "clew")
	if err := output(exec.Command("go", "build", "-o", path, "../../../cmd/clew")); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(workFolder, "config", "clew")
	if err := os.MkdirAll(config, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "clew.json"), []byte(`{"walkTimeout": "30s", "stackTimeout": "5m", "stepThroughGlue": false}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CONFIG_HOME", filepath.Dir(config)) // not the user's own
	b := &bench{}
	for i := range scenes {
		res, err := scenes[i].try(func(r *run) (debugger, error) { return startDlv(path, r) }, p, stepOut, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		b.judge(p.variant, &scenes[i], stepOut, res)
	}
	if err := b.findings(); err != nil {
		t.Error(err)
	}
}
