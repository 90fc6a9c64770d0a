package symbols

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/imagemap/macho"
	"github.com/clewdbg/clew/internal/testneed"
)

// TestMachODWARF reads names, lines and inlined calls of a Mach-O library from the
// object files that it was linked from, and from the file that dsymutil writes.
func TestMachODWARF(t *testing.T) {
	clang, lld, dsymutil := testneed.Tool(t, "clang-19"), testneed.Tool(t, "ld64.lld-19"), testneed.Tool(t, "dsymutil-19")
	for _, c := range []struct {
		arch string
		then []string // after the object file was made
	}{
		{"x86_64", []string{dsymutil, "p"}}, {"arm64", []string{dsymutil, "p"}},
		{"x86_64", nil}, {"arm64", nil},
	} {
		t.Run(fmt.Sprint(c.arch, len(c.then)), func(t *testing.T) {
			dir := t.TempDir()
			source := filepath.Join(dir, "p.c")
			text := "volatile int sink;\nint before(void) { return sink; }\nstatic inline __attribute__((always_inline)) void inner(int x) {\n\tsink = x;\n}\nint outer(int x) {\n\tinner(x);\n\treturn sink;\n}\n"
			if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{
				{clang, "-target", c.arch + "-apple-macos11", "-O2", "-g", "-c", source, "-o", "p.o"},
				{lld, "-arch", c.arch, "-dylib", "-platform_version", "macos", "11.0", "11.0", "-install_name", "p", "-o", "p", "p.o"},
				c.then,
			} {
				if len(args) == 0 {
					continue
				}
				cmd := exec.Command(args[0], args[1:]...)
				cmd.Dir = dir
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %v: %s", args, err, out)
				}
			}
			if len(c.then) > 0 { // what is in the object file does not help
				if err := os.Remove(filepath.Join(dir, "p.o")); err != nil {
					t.Fatal(err)
				}
			}
			f, err := OpenWithDebug(filepath.Join(dir, "p"), DebugSearch{})
			if err != nil {
				t.Fatal(err)
			}
			at := f.Find("outer")
			if len(at) != 1 {
				t.Fatalf("outer is at %#x", at)
			}
			b, _ := f.FunctionBounds(at[0])
			want := []Call{{Function: "inner", File: source, Line: 4, Column: 7, Described: true}, {Function: "outer", File: source, Line: 7, Column: 2, Described: true}}
			found := false
			for pc := b.Start; pc < b.End; pc++ {
				calls := f.Calls(pc)
				found = found || slices.Equal(calls, want)
				if len(calls) == 0 || calls[len(calls)-1].Function != "outer" {
					t.Errorf("%#x: %+v", pc, calls)
				}
			}
			if !found {
				t.Errorf("no instruction of outer is %+v", want)
			}
			if p := f.Problems(); len(p) > 0 {
				t.Error(p)
			}
			if len(c.then) > 0 {
				return
			}
			var other *OtherBuildError
			if _, err := openObject(&macho.Linked{Object: filepath.Join(dir, "p.o"), Modified: 1e9}); !errors.As(err, &other) {
				t.Errorf("an object file that was changed: %v", err)
			}
			if err := os.Remove(filepath.Join(dir, "p.o")); err != nil {
				t.Fatal(err)
			}
			if f, err = OpenWithDebug(filepath.Join(dir, "p"), DebugSearch{}); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if calls := f.Calls(at[0]); len(calls) != 1 || calls[0].Described || len(f.Problems()) != 1 {
					t.Errorf("without the object file: %+v, %v", calls, f.Problems())
				}
			}
		})
	}
}

// TestFindMember reads archives with short and long names.
func TestFindMember(t *testing.T) {
	member := func(name, data string) string {
		long := ""
		if len(name) > 15 {
			long, name = name, fmt.Sprintf("#1/%d", len(name))
		}
		out := fmt.Sprintf("%-16s%-12d%-6d%-6d%-8o%-10d`\n", name, 77, 0, 0, 0o644, len(long)+len(data)) + long + data
		if len(out)%2 == 1 {
			out += "\n"
		}
		return out
	}
	const long = "an_object_file_with_a_long_name.o"
	archive := archiveMagic + member("a.o", "first") + member(long, "second") + member("b.o/", "third")
	for name, want := range map[string]string{"a.o": "first", long: "second", "b.o": "third", "c.o": ""} {
		r, modified, err := findMember(io.NewSectionReader(strings.NewReader(archive), 0, int64(len(archive))), name)
		if want == "" {
			if err == nil {
				t.Errorf("%s is there", name)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || string(got) != want || modified != 77 {
			t.Errorf("%s: %q, %d, %v", name, got, modified, err)
		}
	}
	for n := range len(archive) {
		cut := archive[:n]
		if _, _, err := findMember(io.NewSectionReader(strings.NewReader(cut), 0, int64(n)), "c.o"); err == nil {
			t.Errorf("cut at %d: no error", n)
		}
	}
}

// TestUnpackBomb: a section that claims to become a gigabyte is not decompressed.
func TestUnpackBomb(t *testing.T) {
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	_, _ = w.Write(make([]byte, 1<<20)) // into memory
	_ = w.Close()
	for size, want := range map[uint64]int{1 << 20: 1 << 20, 1 << 30: 0} {
		data := append(binary.BigEndian.AppendUint64([]byte("ZLIB"), size), packed.Bytes()...)
		if got := len(unpack(data)); got != want {
			t.Errorf("%d bytes, want %d", got, want)
		}
	}
}
