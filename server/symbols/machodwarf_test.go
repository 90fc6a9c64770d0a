package symbols

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestDSYM reads names, lines and inlined calls of a Mach-O library from the file that
// dsymutil writes.
func TestDSYM(t *testing.T) {
	clang, lld, dsymutil := testneed.Tool(t, "clang-19"), testneed.Tool(t, "ld64.lld-19"), testneed.Tool(t, "dsymutil-19")
	for _, arch := range []string{"x86_64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			dir := t.TempDir()
			source := filepath.Join(dir, "p.c")
			text := "volatile int sink;\nstatic inline __attribute__((always_inline)) void inner(int x) {\n\tsink = x;\n}\nint outer(int x) {\n\tinner(x);\n\treturn sink;\n}\n"
			if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{
				{clang, "-target", arch + "-apple-macos11", "-O2", "-g", "-c", source, "-o", "p.o"},
				{lld, "-arch", arch, "-dylib", "-platform_version", "macos", "11.0", "11.0", "-install_name", "p", "-o", "p", "p.o"},
				{dsymutil, "p"},
			} {
				cmd := exec.Command(args[0], args[1:]...)
				cmd.Dir = dir
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %v: %s", args, err, out)
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
			want := []Call{{"inner", source, 3, true}, {"outer", source, 6, true}}
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
		})
	}
}
