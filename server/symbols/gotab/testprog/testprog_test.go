package testprog_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/symbols/gotab/testprog"
)

// TestBuilds: each build is the kind of file that its name promises, has Go's table,
// and runs.
func TestBuilds(t *testing.T) {
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	for _, b := range testprog.Builds() {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			path := b.Make(t)
			f, err := elf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			wantType := elf.ET_EXEC
			if strings.Contains(b.Name, "pie") {
				wantType = elf.ET_DYN
			}
			if f.Type != wantType {
				t.Errorf("type %v, want %v", f.Type, wantType)
			}
			if stripped := f.Section(".symtab") == nil; stripped != b.Stripped() || stripped != strings.Contains(b.Name, "stripped") {
				t.Errorf("stripped: %v, Stripped() %v", stripped, b.Stripped())
			}
			if libraries, _ := f.ImportedLibraries(); b.Cgo != (len(libraries) > 0) {
				t.Errorf("libraries %v", libraries)
			}
			if f.Section(".gopclntab") == nil && f.Section(".data.rel.ro.gopclntab") == nil && !strings.Contains(b.Name, "pie") {
				t.Error("no section with Go's table")
			}
			cmd := exec.Command(path, "b", "a")
			cmd.Env = os.Environ()
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
