package native

import (
	"testing"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/symbols"
)

// open returns the code of a file as if it were loaded where it was linked to.
func open(t testing.TB, path string) *Code {
	t.Helper()
	file, err := symbols.OpenWithDebug(path, symbols.DebugSearch{Folders: symbols.DefaultDebugFolders})
	if err != nil {
		t.Fatal(err)
	}
	end := uint64(0)
	for _, r := range file.Executable() {
		end = max(end, r.End)
	}
	images, err := imagemap.New(imagemap.Word64, "linux", []imagemap.Image{{Base: 0, EndOfText: end, Path: path}})
	if err != nil {
		t.Fatal(err)
	}
	return Of(codemap.New(file.Arch(), images, func(*imagemap.Image) (*symbols.File, error) { return file, nil }))
}
