package goruntime

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/gocode"
	"github.com/clewdbg/clew/unwind"
)

// TestVariablesByCode: each variable of the runtime is found by instructions where its symbol
// says that it is.
func TestVariablesByCode(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	path := filepath.Join(t.TempDir(), "program")
	build := exec.Command("go", "build", "-o", path, "github.com/clewdbg/clew/integration/bench/listing/testdata/deadlock")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	symbols := make(map[string]elf.Symbol)
	for _, s := range list {
		symbols[s.Name] = s
	}
	text := f.Section(".text")
	data, err := text.Data()
	if err != nil {
		t.Fatal(err)
	}
	got, err := gocode.ReadVariables(unwind.AMD64, func(name string) ([]byte, uint64) {
		s, ok := symbols[name]
		if !ok {
			return nil, 0
		}
		return data[s.Value-text.Addr:][:s.Size], s.Value
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]uint64{
		"runtime.allglen": got.AllGLen, "runtime.allgptr": got.AllGPtr, "runtime.allm": got.AllM, "runtime.waitReasonStrings": got.WaitReasons,
		"runtime.allp": got.AllP, "runtime.gomaxprocs": got.GoMaxProcs, "runtime.gcphase": got.GCPhase,
	} {
		if want := symbols[name].Value; want == 0 || at != want {
			t.Errorf("%s: at %#x, by its symbol at %#x", name, at, want)
		}
	}
}
