package live

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSysroot: a copy of another machine's root has a library under /lib or under /usr/lib, whichever the mappings name.
func TestSysroot(t *testing.T) {
	root := t.TempDir()
	for _, path := range []string{"lib/old.so", "usr/lib64/new.so", "usr/share/data", "lib/both.so", "usr/lib/both.so"} {
		at := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"/usr/lib/old.so": "lib/old.so", "/lib/old.so": "lib/old.so",
		"/lib64/new.so": "usr/lib64/new.so", "/usr/lib64/new.so": "usr/lib64/new.so",
		"/usr/lib/both.so": "usr/lib/both.so", "/lib/both.so": "lib/both.so",
		"/share/data": "share/data", "/lib/none.so": "lib/none.so", "/opt/lib/old.so": "opt/lib/old.so",
	} {
		if got := below(root, path); got != filepath.Join(root, want) {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := below("", "/usr/lib/none.so"); got != "/usr/lib/none.so" {
		t.Errorf("without a root: %s", got)
	}
}
