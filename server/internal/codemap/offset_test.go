package codemap

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/symbols"
	"github.com/clewdbg/clew/unwind"
)

// TestOffset: offsets count from an image's lowest byte, as image maps have it, for a
// program that is not position-independent too; where only its load bias is known, as in a
// snapshot without mappings, its file says where that is.
func TestOffset(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	for flag, moved := range map[string]uint64{"-no-pie": 0, "-pie": 0x555555554000} {
		dir := t.TempDir()
		source, program := filepath.Join(dir, "a.c"), filepath.Join(dir, "a")
		if err := os.WriteFile(source, []byte("int main(void) { return 0; }\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(testneed.Tool(t, "gcc"), flag, "-fPIE", "-o", program, source).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		f, err := symbols.Open(program)
		if err != nil {
			t.Fatal(err)
		}
		low, pc := moved+f.Start(), moved+f.Find("main")[0]
		if (f.Start() == 0) != (flag == "-pie") {
			t.Fatalf("%s: linked at %#x", flag, f.Start())
		}
		for _, base := range []uint64{low, moved} {
			images, err := imagemap.New(imagemap.Word64, "", []imagemap.Image{{
				Base: base, EndOfText: low + 0x100000, Path: program, Loaded: &imagemap.Loaded{Bias: moved, HasBias: true},
			}})
			if err != nil {
				t.Fatal(err)
			}
			stack := unwind.Stack{Frames: []unwind.Frame{{PC: unwind.Code(pc, unwind.KindInstruction)}}}
			files := Files{Arch: unwind.AMD64}
			New(unwind.AMD64, images, files.Live(os.Getpid(), nil)).Name(&stack)
			if got := stack.Frames[0]; got.Offset != pc-low || got.Function != "main" {
				t.Errorf("%s, base %#x: %s at offset %#x, want %#x", flag, base, got.Function, got.Offset, pc-low)
			}
		}
	}
}
