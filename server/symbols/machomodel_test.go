package symbols_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/unwind/rule"
)

// TestModelOfMachO: a library that was compiled with frame pointers has them at each call: the
// model of its code knows so, and which calls do not come back.
func TestModelOfMachO(t *testing.T) {
	clang, lld := testneed.Tool(t, "clang-19"), testneed.Tool(t, "ld64.lld-19")
	for _, arch := range []string{"x86_64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			dir := t.TempDir()
			source, object, image := filepath.Join(dir, "a.c"), filepath.Join(dir, "a.o"), filepath.Join(dir, "a.dylib")
			text := "void abort(void);\n" + startsSource[len("\n#include <stdlib.h>\n"):]
			if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, command := range [][]string{
				{clang, "-target", arch + "-apple-macos11", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-c", source, "-o", object},
				{lld, "-arch", arch, "-platform_version", "macos", "11", "11", "-dylib", "-undefined", "dynamic_lookup", object, "-o", image},
			} {
				if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
					t.Fatalf("%v: %v: %s", command, err, out)
				}
			}
			f, err := symbols.Open(image)
			if err != nil {
				t.Fatal(err)
			}
			if calls := checkFramePointers(t, f); calls < 10 {
				t.Errorf("%d calls", calls)
			}
		})
	}
}

// checkFramePointers compares the model of each call with that of code that keeps a frame
// pointer, and returns how many there are.
func checkFramePointers(t *testing.T, f *symbols.File) (calls int) {
	t.Helper()
	var d prologue.Decoder
	for _, name := range []string{"called", "pointed", "tailed", "fails", "run"} {
		at := f.Find(name)
		b, ok := f.FunctionBounds(at[0])
		fn := f.Model().At(at[0])
		if !ok || fn == nil || fn.Start != b.Start {
			t.Fatalf("%s: %+v, %+v", name, b, fn)
		}
		code, word, last := f.Code(b.Start, int(b.End-b.Start)), int64(f.Arch().PointerSize()), uint64(0)
		for at := 0; at < len(code); {
			in := d.For(f.Arch(), code[at:], b.Start+uint64(at))
			at += in.Len
			if in.Flow != prologue.FlowCall && in.Flow != prologue.FlowCallIndirect {
				continue
			}
			calls, last = calls+1, b.Start+uint64(at)
			if p := fn.Waiting(last); p.Proof < prologue.Some || p.Rule.RA != rule.AtCFA(-word) || p.Rule.FP != rule.AtCFA(-2*word) {
				t.Errorf("%s+%#x: %+v", name, at, p)
			}
		}
		if name != "fails" {
			continue
		}
		if _, reached := fn.At(last); reached && last < b.End {
			t.Errorf("%#x, behind the call of abort, is reached", last)
		}
	}
	return calls
}
