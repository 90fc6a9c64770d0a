package integration

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/sframetest"
)

// TestUnwindS390X: on an architecture whose calls are not decoded a stack is left by
// its tables to its end (R17). The snapshot was taken of the prebuilt program in qemu;
// "expect" is the shadow stack of its calls, from single steps.
func TestUnwindS390X(t *testing.T) {
	const name = "s390x.json"
	dir := t.TempDir()
	for from, to := range map[string]string{"testdata/" + name: name, "../plugins/sframe/testdata/s390x-v3O2.gz": "s390x-steps"} {
		data, err := sframetest.Read(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, to), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if o := clew(t, "unwind", filepath.Join(dir, name)); o.code != 0 || o.stderr != "" {
		t.Errorf("%v", o)
	}
}
