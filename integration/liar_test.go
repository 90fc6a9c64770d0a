package integration

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// TestLyingPlugin: a plugin that is asked first says of each frame of C that the stack ends, or
// skips the caller, or finds it at a wrong place. No stack is wrong: frames that tables know are
// left by those, and others by the model of the code; and each lie is shown.
func TestLyingPlugin(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	testneed.Tool(t, "gcc")
	exe, liar := proofProgram(t, false), filepath.Join(t.TempDir(), "liar")
	if out, err := exec.Command("go", "build", "-o", liar, "./testdata/liar").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(liar)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	for _, how := range []string{"end", "skip", "cfa"} {
		for what, last := range map[string]string{"tables": "runtime.goexit", "switch": "start_thread"} {
			t.Run(how+"-"+what, func(t *testing.T) {
				dir := t.TempDir()
				config, record := filepath.Join(dir, "clew.json"), filepath.Join(dir, "record")
				text, err := json.Marshal(map[string]any{"plugins": []any{map[string]any{
					"name": "liar", "path": liar, "sha256": hex.EncodeToString(sum[:]), "args": []string{how}, "rank": 1,
				}}})
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(config, text, 0o600); err != nil {
					t.Fatal(err)
				}
				s, at := proofStack(t, clew(t, "stack", "--thread", "all", "--clew-config", config, "--format", "json", "--", exe, what, record).stacks(t), record, last)
				refused := 0
				for _, f := range s.Frames {
					if slices.ContainsFunc(f.Rejected, func(r stackjson.Rejected) bool { return r.Strategy == "liar" }) {
						refused++
					}
				}
				if own := len(readProof(t, record)); at != 1 || refused < own-1 {
					t.Errorf("%d lies are shown, of %d frames", refused, own)
				}
			})
		}
	}
}
