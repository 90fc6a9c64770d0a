package codemap

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/debuginfod"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/unwind"
)

// TestDebugFileComesLater: a stop does not wait for a debug file from elsewhere; the
// first stop after it has come has its names.
func TestDebugFileComesLater(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	dir := t.TempDir()
	source, program, debug := filepath.Join(dir, "a.c"), filepath.Join(dir, "a.so"), filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(source, []byte("static __attribute__((noinline, used)) int hidden(int x) { return x + 1; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	objcopy := testneed.Tool(t, "objcopy")
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	run(testneed.Tool(t, "gcc"), "-g", "-shared", "-fPIC", "-Wl,--build-id", "-o", program, source)
	whole, err := symbols.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	at := whole.Find("hidden")[0]
	run(objcopy, "--only-keep-debug", program, debug)
	run(testneed.Tool(t, "strip"), program)

	var have string
	asked := 0
	files := Files{DebugFolders: []string{}, Arch: unwind.AMD64, Ask: func(id []byte) (string, error) {
		if string(id) != string(whole.BuildID()) {
			t.Errorf("asked for build %x", id)
		}
		asked++
		if have == "" {
			return "", debuginfod.ErrPending
		}
		return have, nil
	}}
	images, err := imagemap.New(imagemap.Word64, "", []imagemap.Image{{Base: 0x100000, EndOfText: 0x200000, Path: program, BuildID: whole.BuildID()}})
	if err != nil {
		t.Fatal(err)
	}
	stop := func(m *Map) *Map {
		defer files.Sweep()
		return m.Next(images, files.Live(os.Getpid(), nil))
	}
	m := stop(None(unwind.AMD64))
	if name := nameAt(m, 0x100000+at+1); name != "" || len(m.About()[0]) != 1 {
		t.Errorf("before it came: %q, %q", name, m.About())
	}
	if again := stop(m); again != m {
		t.Error("the map is another one though nothing came")
	}
	have = debug
	m = stop(m)
	if name := nameAt(m, 0x100000+at+1); name != "hidden" || len(m.About()[0]) != 0 {
		t.Errorf("after it came: %q, %q", name, m.About())
	}
	asked = 0
	if again := stop(m); again != m || asked != 0 {
		t.Errorf("asked %d times for what is there", asked)
	}
}
