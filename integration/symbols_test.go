package integration

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema"
	"github.com/clewdbg/clew/internal/unwind/snapshot/schema/schematest"
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/debuginfod/debuginfodtest"
)

// laterBuilds are the ways to build testdata/later: a program that is not
// position-independent, and one that is.
var laterBuilds = map[string]struct{ mode, flags string }{
	"exe": {"exe", "-O2 -g"},
	"pie": {"pie", "-O0 -g"},
}

// later is testdata/later, as it was built and stripped.
type later struct {
	whole, bare string // programs; their libraries lie beside them
	folder      string // what is left elsewhere: stripped files and debug files apart
	config      string // of clew: no debug files of the machine
}

func makeLater(t *testing.T, mode, flags string) later {
	t.Helper()
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	cxx, strip, objcopy := testneed.Tool(t, "g++"), testneed.Tool(t, "strip"), testneed.Tool(t, "objcopy")
	dir := t.TempDir()
	l := later{
		whole: filepath.Join(dir, "whole", "app"), bare: filepath.Join(dir, "bare", "app"),
		folder: filepath.Join(dir, "folder"), config: filepath.Join(dir, "clew.json"),
	}
	write(t, l.config, []byte(`{"debugFolders":["`+filepath.Join(dir, "none")+`"]}`))
	library := filepath.Join(filepath.Dir(l.whole), "libshapes.so")
	for _, path := range []string{l.whole, l.bare, filepath.Join(l.folder, "x")} {
		if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	compile := append(strings.Fields(flags), "-shared", "-fPIC", "-Wl,--build-id", "-o", library, "testdata/later/shapes/shapes.cc")
	command(t, exec.Command(cxx, compile...))
	build := exec.Command("go", "build", "-buildmode="+mode, "-o", l.whole, "./testdata/later")
	build.Env = append(os.Environ(), "CC="+testneed.CC(t), "CGO_ENABLED=1", "CGO_CFLAGS="+flags, "CGO_LDFLAGS_ALLOW=.*",
		"CGO_LDFLAGS=-L"+filepath.Dir(l.whole)+" -lshapes -Wl,-rpath,$ORIGIN")
	command(t, build)
	for _, from := range []string{l.whole, library} {
		to := filepath.Join(filepath.Dir(l.bare), filepath.Base(from))
		command(t, exec.Command(strip, "-s", "-o", to, from))
		command(t, exec.Command(objcopy, "--only-keep-debug", from, filepath.Join(l.folder, "debug of "+filepath.Base(from))))
		copyFile(t, filepath.Join(l.folder, "stripped "+filepath.Base(from)), to)
	}
	return l
}

func command(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
}

// keep puts the files of other images into the folder too: the C library's.
func (l *later) keep(t *testing.T, images []laterImage) {
	t.Helper()
	for _, img := range images {
		if filepath.Dir(img.Path) != filepath.Dir(l.bare) && filepath.IsAbs(img.Path) {
			copyFile(t, filepath.Join(l.folder, filepath.Base(img.Path)), img.Path)
		}
	}
}

// stack runs clew stack on one of the programs.
func (l *later) stack(t *testing.T, program string, flags ...string) outcome {
	t.Helper()
	return clew(t, append(append([]string{"stack", "--clew-config", l.config}, flags...), "--", program)...).want(t, done)
}

// laterRow is what a reader sees of a frame.
type laterRow struct {
	function, file string
	line           int
	inlined        bool
	place          string // image+offset
}

type laterImage struct {
	Base, EndOfText stackjson.Address
	BuildID, Path   string
}

// liveRows are the rows of the one stack in an answer, with the images that come with
// it.
func liveRows(t *testing.T, o outcome) (rows []laterRow, images []laterImage) {
	t.Helper()
	for _, f := range o.stacks(t)[0].Frames {
		row := laterRow{f.Function, f.File, f.Line, f.Inlined, ""}
		if f.Offset != nil {
			row.place = fmt.Sprintf("%s+%v", filepath.Base(f.Image), *f.Offset)
		}
		rows = append(rows, row)
	}
	var answer struct{ Images []laterImage }
	if err := json.Unmarshal([]byte(o.stdout), &answer); err != nil {
		t.Fatal(err)
	}
	return rows, answer.Images
}

// decodedRows are those of a backtrace.
func decodedRows(t *testing.T, o outcome) (rows []laterRow) {
	t.Helper()
	if err := schematest.CheckOutput(schema.Decode, []byte(o.stdout)); err != nil {
		t.Errorf("not as the schema says: %v", err)
	}
	var d struct {
		Frames []struct {
			Kind, Function, File string
			Address              stackjson.Address
			Line                 int
			Inlined              bool
		}
		Images []laterImage
	}
	if err := json.Unmarshal([]byte(o.stdout), &d); err != nil {
		t.Fatal(err)
	}
	for _, f := range d.Frames {
		row, at := laterRow{f.Function, f.File, f.Line, f.Inlined, ""}, f.Address
		if f.Kind == "ra" {
			at--
		}
		for _, img := range d.Images {
			if at >= img.Base && at < img.EndOfText {
				row.place = fmt.Sprintf("%s+%v", filepath.Base(img.Path), f.Address-img.Base)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func sameRows(t *testing.T, what string, got, want []laterRow) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Errorf("%s: %d rows, of the live stack %d; they differ from %d on:\n%+v\nlive:\n%+v", what, len(got), len(want), i, got[min(i, len(got)):], want[min(i, len(want)):])
			return
		}
	}
}

// TestSymbolsLater: a stack that was written where everything is stripped, and gets its
// words elsewhere, equals the live stack of the unstripped program, row by row: in every
// format that addresses are written in, with files in a folder and from a debuginfod.
func TestSymbolsLater(t *testing.T) {
	for name, b := range laterBuilds {
		t.Run(name, func(t *testing.T) {
			l := makeLater(t, b.mode, b.flags)
			live, _ := liveRows(t, l.stack(t, l.whole, "--format", "json"))
			wantLanguages(t, live)
			bare, images := liveRows(t, l.stack(t, l.bare, "--format", "json"))
			if slices.Equal(bare, live) {
				t.Fatal("the stripped program shows as much as the other one")
			}
			l.keep(t, images)
			elsewhere := l.writeAll(t)

			check := func(t *testing.T, place string) {
				for format, args := range elsewhere {
					sameRows(t, format, decodedRows(t, clew(t, append([]string{"decode", "--format", "json", "--symbols", place}, args...)...).want(t, done)), live)
				}
				again, _ := liveRows(t, clew(t, "unwind", "--clew-config", l.config, "--root", t.TempDir(), "--symbols", place, elsewhere["snapshot"][0]).want(t, done))
				sameRows(t, "unwound again", again, live)
			}
			t.Run("folder", func(t *testing.T) { check(t, l.folder) })
			t.Run("debuginfod", func(t *testing.T) {
				url := debuginfodtest.Serve(t, l.folder)
				for _, img := range images {
					kinds := []string{"executable"}
					if filepath.Dir(img.Path) == filepath.Dir(l.bare) {
						kinds = append(kinds, "debuginfo")
					}
					id, _ := hex.DecodeString(img.BuildID)
					debuginfodtest.Wait(t, url, id, kinds...)
				}
				t.Setenv("DEBUGINFOD_URLS", url)
				t.Setenv("DEBUGINFOD_CACHE_PATH", t.TempDir())
				check(t, "debuginfod")
			})
		})
	}
}

// wantLanguages demands that a live stack has rows of Go, C and C++, of all some inlined
// where that was asked for, and of the C library.
func wantLanguages(t *testing.T, rows []laterRow) {
	t.Helper()
	inlined := slices.ContainsFunc(rows, func(r laterRow) bool { return r.inlined && strings.HasSuffix(r.file, ".cc") })
	for _, want := range []string{"main.go", "native.c", "shapes.cc"} {
		if !slices.ContainsFunc(rows, func(r laterRow) bool {
			return strings.HasSuffix(r.file, want) && r.line > 0 && r.function != "" && (r.inlined || !inlined)
		}) {
			t.Errorf("no row of %s: %+v", want, rows)
		}
	}
	if !slices.ContainsFunc(rows, func(r laterRow) bool { return strings.HasPrefix(r.place, "libc.so") }) {
		t.Errorf("no row of the C library: %+v", rows)
	}
}

// writeAll writes the stripped program's stack in every format, and returns what clew
// decode is given to read it.
func (l *later) writeAll(t *testing.T) map[string][]string {
	t.Helper()
	dir := t.TempDir()
	file := func(format, name string) string {
		path := filepath.Join(dir, name)
		l.stack(t, l.bare, "--format", format, "-o", path)
		return path
	}
	out := map[string][]string{
		"cbf":      {"--images", filepath.Join(dir, "x.cif"), file("cbf", "x.cbf")},
		"swift":    {file("swift", "x.swift.json")},
		"pprof":    {file("pprof", "x.pb.gz")},
		"stack":    {file("json", "x.stack.json")},
		"snapshot": {file("snapshot", "x.snapshot.json")},
	}
	decoded := filepath.Join(dir, "x.json")
	write(t, decoded, []byte(clew(t, "decode", "--format", "json", out["swift"][0]).want(t, done).stdout))
	out["decoded"] = []string{decoded}
	profile := filepath.Join(dir, "y.pb.gz")
	clew(t, "encode", "--to", "pprof", "-o", profile, decoded).want(t, done)
	out["encoded"] = []string{profile}
	return out
}
