package symbols

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/symbols/gotab"
	"github.com/clewdbg/clew/server/symbols/gotab/testprog"
)

// TestLyingInlineTable: an inlined call of Go's that is its own caller is not shown, and the file's problems name it, once.
func TestLyingInlineTable(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	builds := testprog.Builds()
	path := builds[slices.IndexFunc(builds, testprog.Build.Stripped)].Make(t)
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	fn, calls := inlinedInGo(t, f.GoTable())
	pc := calls[0].PC
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	word := func(n uint64) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }
	start := word(uint64(calls[0].StartLine))
	data = bytes.ReplaceAll(data, slices.Concat(word(calls[1].PC-fn.Entry), start), slices.Concat(word(pc-fn.Entry), start))
	lying := filepath.Join(t.TempDir(), "lying")
	if err := os.WriteFile(lying, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err = Open(lying); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := f.Calls(pc); len(got) != 1 || got[0].Function != fn.Name() || got[0].Line != 0 || got[0].Described {
			t.Errorf("%+v, want %s alone, without a line", got, fn.Name())
		}
	}
	if p := f.Problems(); len(p) != 1 || !strings.Contains(p[0].Error(), fn.Name()) || !strings.Contains(p[0].Error(), "is its own caller") {
		t.Errorf("%v", p)
	}
}

// inlinedInGo finds an address with an inlined call.
func inlinedInGo(t *testing.T, table *gotab.Table) (gotab.Func, []gotab.Call) {
	t.Helper()
	for i := range table.Len() {
		fn, _ := table.At(i)
		for pc := fn.Entry; pc < fn.End; pc++ {
			if calls, err := fn.Calls(pc); err == nil && len(calls) == 2 {
				return fn, calls
			}
		}
	}
	t.Fatal("nothing is inlined")
	return gotab.Func{}, nil
}
