package executable

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPackedByUPX(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	for text, want := range map[string]bool{"\x7fELF and some headers UPX!": true, "\x7fELF": false, "": false} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := packedByUPX(file); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if packedByUPX(file + "none") {
		t.Error("a file that is not there is packed")
	}
}
