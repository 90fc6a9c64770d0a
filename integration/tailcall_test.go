package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// TestTailCalls: functions that jumped on, by what the program itself has written, are
// rows marked as such, with the lines that GDB shows; where more than one way leads to the
// innermost function, no row is made. Files that get their words later have the same rows.
func TestTailCalls(t *testing.T) {
	testneed.Ptrace(t)
	gdb := testneed.Tool(t, "gdb")
	prog := filepath.Join(t.TempDir(), "prog")
	cmd := exec.Command("go", "build", "-o", prog, "./testdata/tailcall")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "CC="+testneed.Tool(t, "gcc"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, c := range []struct {
		way  string
		rows []string // of functions that have no frame
	}{
		{"direct", nil},
		{"one", []string{"mid"}},
		{"two", []string{"mid", "hop"}},
		{"inlined", []string{"within", "around"}},
		{"unclear", nil},
	} {
		t.Run(c.way, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "record")
			o := run(t, exec.Command(clewPath(), "stack", "--format", "json", "--", prog, c.way, file))
			stack := stopped{o, ""}.stacks(t)[0]
			var rows, words []string
			frames := make(map[stackjson.Address]bool)
			for i, f := range stack.Frames {
				if f.Image != prog || !strings.HasSuffix(f.File, "tail.c") {
					continue
				}
				words = append(words, fmt.Sprintf("%s:%d", f.Function, f.Line))
				if f.TailCall {
					rows = append(rows, f.Function)
					if !f.Inlined || f.DelveFrame != nil || f.Column == 0 {
						t.Errorf("%+v", f)
					}
				} else if frames[f.CFA] {
					t.Errorf("frame %d is there twice", i)
				}
				frames[f.CFA] = frames[f.CFA] || !f.Inlined
			}
			if !slices.Equal(rows, c.rows) {
				t.Errorf("tail calls %q, want %q", rows, c.rows)
			}
			if gone := jumped(t, file); c.way != "unclear" && !slices.Equal(slices.DeleteFunc(rows, isWithin), gone) {
				t.Errorf("tail calls %q, the program says %q", rows, gone)
			}
			// GDB has one row for a jump, of the function that is inlined there.
			ours := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.HasPrefix(w, "around:") })
			if theirs := gdbWords(t, gdb, prog, c.way, file); !slices.Equal(ours, theirs) {
				t.Errorf("%q, gdb %q", words, theirs)
			}
			cbf := filepath.Join(dir, "x.cbf")
			run(t, exec.Command(clewPath(), "stack", "--format", "cbf", "-o", cbf, "--", prog, c.way, file))
			later := clew(t, "decode", "--format", "json", "--symbols", prog, "--images", filepath.Join(dir, "x.cif"), cbf)
			var got []string
			for _, row := range decodedRows(t, later) {
				if strings.HasSuffix(row.file, "tail.c") {
					got = append(got, fmt.Sprintf("%s:%d", row.function, row.line))
				}
			}
			if !slices.Equal(got, words) {
				t.Errorf("later %q, live %q", got, words)
			}
		})
	}
}

// isWithin: the program writes nothing of a function that is inlined.
func isWithin(function string) bool { return function == "within" }

// jumped lists the functions that have jumped on, the last one first, by the program's record.
func jumped(t *testing.T, file string) (names []string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, beforeName := "", ""
	for line := range strings.Lines(string(data)) {
		name, frame, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			t.Fatalf("record: %q", line)
		}
		if frame == before {
			names = slices.Insert(names, 0, beforeName)
		}
		before, beforeName = frame, name
	}
	if beforeName != "leaf" {
		t.Fatalf("the program did not come to its end: %s", data)
	}
	return names
}

var gdbFrame = regexp.MustCompile(`(?m)^#\d+ +(?:0x[0-9a-f]+ in )?(\w+) \(.*\) at .*tail\.c:(\d+)$`)

// gdbWords lists the functions and lines of the C code in GDB's backtrace.
func gdbWords(t *testing.T, gdb, prog, way, file string) (words []string) {
	t.Helper()
	out, err := exec.Command(gdb, "-nx", "-batch", "-ex", "set width 0", "-ex", "run", "-ex", "bt", "--args", prog, way, file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, m := range gdbFrame.FindAllStringSubmatch(string(out), -1) {
		words = append(words, m[1]+":"+m[2])
	}
	if len(words) == 0 {
		t.Fatalf("gdb: %s", out)
	}
	return words
}
