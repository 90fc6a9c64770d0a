package dap

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/unwind"
)

// TestOverflow: a C stack overflow, on the main thread and on another one, shows the whole
// recursion and its bottom in an editor, page by page. The program records its stack itself.
func TestOverflow(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	build := exec.Command("go", "build", "-o", binary("proof"), "../testdata/proof")
	build.Env = append(os.Environ(), "CC="+testneed.Tool(t, "gcc"), "CGO_CFLAGS=-O2 -g0 -fomit-frame-pointer")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, what := range []string{"overflow", "overflow-thread"} {
		t.Run(what, func(t *testing.T) {
			record := filepath.Join(t.TempDir(), "record")
			s := start(t, binary("clew"))
			c := s.dial()
			thread := threadOf(t, c.launch(object{"mode": "exec", "program": binary("proof"), "args": []string{what, record}}))
			const page = 400
			var rows []frame
			var pcs []uint64
			for len(rows)%page == 0 {
				more := c.stack(thread, len(rows), page).StackFrames
				if len(more) == 0 {
					break
				}
				rows = append(rows, more...)
			}
			for _, r := range rows {
				pc, _ := strconv.ParseUint(r.PC, 0, 64)
				pcs = append(pcs, pc)
			}
			want := recordedBy(t, record)
			at := slices.Index(pcs, want[len(want)-1]) - len(want) + 1
			if at <= 0 || !slices.Equal(pcs[at:at+len(want)], want) {
				t.Fatalf("of %d rows none are the %d on record", len(rows), len(want))
			}
			if first, last := rows[at-1].Name, rows[len(rows)-1].Name; first != "deep" || last != "runtime.goexit" {
				t.Errorf("from %s to %s", first, last)
			}
			c.disconnect()
		})
	}
}

// recordedBy reads where the program's functions return to, innermost first.
func recordedBy(t *testing.T, file string) (out []uint64) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for ; len(data) >= 8; data = data[8:] {
		if ra := unwind.AMD64.ByteOrder().Uint64(data); ra != 0 {
			out = append(out, ra)
		}
	}
	slices.Reverse(out)
	if len(out) < 1000 {
		t.Fatalf("%d return addresses are recorded", len(out))
	}
	return out
}
