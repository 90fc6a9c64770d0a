package symbols

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestPLTARM64: each entry is a function, with the name that its relocation has: ld
// writes both in one order.
func TestPLTARM64(t *testing.T) {
	gcc := testneed.Tool(t, "aarch64-linux-gnu-gcc")
	source := filepath.Join(t.TempDir(), "plt.c")
	if err := os.WriteFile(source, []byte("#include <unistd.h>\nint f(void) { return getppid() + getpid(); }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"", "-mbranch-protection=standard -Wl,-z,force-bti"} {
		library := filepath.Join(t.TempDir(), "plt.so")
		args := append([]string{"-O2", "-s", "-shared", "-fPIC", "-o", library, source}, strings.Fields(flags)...)
		if out, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		raw, err := elf.Open(library)
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		names, err := raw.DynamicSymbols()
		if err != nil {
			t.Fatal(err)
		}
		relocations, err := raw.Section(".rela.plt").Data()
		if err != nil {
			t.Fatal(err)
		}
		f, err := Open(library)
		if err != nil {
			t.Fatal(err)
		}
		plt := raw.Section(".plt")
		b, ok := f.FunctionBounds(plt.Addr)
		if !ok || b.Start != plt.Addr || b.End != plt.Addr+32 || b.Name != ".plt" {
			t.Errorf("%q: the first entry is %+v", flags, b)
		}
		found := 0
		for at := plt.Addr + 32; at < plt.Addr+plt.Size && found*24 < len(relocations); at += 4 {
			b, ok := f.FunctionBounds(at)
			if !ok || b.Start != at {
				continue
			}
			symbol := binary.LittleEndian.Uint64(relocations[found*24+8:]) >> 32
			if want := names[symbol-1].Name + "@plt"; b.Name != want || b.End-at < 16 {
				t.Errorf("%q: %#x is %+v, want %s", flags, at, b, want)
			}
			found++
		}
		if found < 2 || found*24 != len(relocations) {
			t.Errorf("%q: %d entries, %d bytes of relocations", flags, found, len(relocations))
		}
	}
}
