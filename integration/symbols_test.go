package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema/schematest"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// TestSymbolsLater: stacks that were written where the program was stripped, and get
// their words elsewhere, have those of the unstripped program's live stack.
func TestSymbolsLater(t *testing.T) {
	for _, flags := range []string{"-O0 -g -fno-omit-frame-pointer", "-O2 -g -fno-omit-frame-pointer"} {
		t.Run(strings.Fields(flags)[0], func(t *testing.T) {
			v := program.Variant{Name: "static-later" + strings.Fields(flags)[0], CFlags: flags}
			p := build(t, v)
			scenario := program.Scenarios[0]
			live := wordsOf(launch(t, p, scenario.Name, scenario.Stop, "--format", "json").stacks(t)[0], p.Path)

			dir := t.TempDir()
			debug, bare := filepath.Join(dir, "debug"), p
			bare.Path = filepath.Join(dir, "bare")
			if err := os.Mkdir(debug, 0o700); err != nil {
				t.Fatal(err)
			}
			copyFile(t, filepath.Join(debug, "any name"), p.Path)
			if out, err := exec.Command(testneed.Tool(t, "strip"), "-o", bare.Path, p.Path).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			written := func(format, name string) string {
				file := filepath.Join(dir, name)
				launch(t, bare, scenario.Name, scenario.Stop, "--format", format, "-o", file).want(t, done)
				return file
			}
			cbf := written("cbf", "x.cbf")
			for format, args := range map[string][]string{
				"cbf":   {"--images", filepath.Join(dir, "x.cif"), cbf},
				"swift": {written("swift", "x.json")},
				"pprof": {written("pprof", "x.pb.gz")},
			} {
				o := clew(t, append([]string{"decode", "--format", "json", "--symbols", debug}, args...)...)
				if o.code != 0 {
					t.Fatalf("%s: %v", format, o)
				}
				if got := decodedWords(t, o.stdout); !slices.Equal(got, live) {
					t.Errorf("%s:\n%s\nlive:\n%s", format, strings.Join(got, "\n"), strings.Join(live, "\n"))
				}
			}
		})
	}
}

// wordsOf lists function, file and line of the frames that lie in one file.
func wordsOf(s stackjson.Stack, path string) (out []string) {
	for _, f := range s.Frames {
		if f.Image == path && f.Strategy != "" {
			out = append(out, fmt.Sprint(f.Function, " ", f.File, ":", f.Line, " ", f.Inlined))
		}
	}
	return out
}

func decodedWords(t *testing.T, text string) (out []string) {
	t.Helper()
	if err := schematest.CheckOutput(schema.Decode, []byte(text)); err != nil {
		t.Errorf("not as the schema says: %v", err)
	}
	var d struct {
		Frames []struct {
			Function, File string
			Line           int
			Inlined        bool
		}
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	for _, f := range d.Frames {
		if f.Function != "" {
			out = append(out, fmt.Sprint(f.Function, " ", f.File, ":", f.Line, " ", f.Inlined))
		}
	}
	return out
}
