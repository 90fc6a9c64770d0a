package symbols

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestPLT compares the entries of procedure linkage tables with objdump's, for
// each layout that linkers write.
func TestPLT(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	gcc, strip, objdump := testneed.Tool(t, "gcc"), testneed.Tool(t, "strip"), testneed.Tool(t, "objdump")
	source := filepath.Join(t.TempDir(), "plt.c")
	if err := os.WriteFile(source, []byte("#include <unistd.h>\nint f(void) { return getppid() + getpid() + (getuid ? getuid() : 0); }\nvoid *p(void) { return (void *)getuid; }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"", "-fcf-protection=full -Wl,-z,ibtplt", "-Wl,-z,now", "-fno-asynchronous-unwind-tables"} {
		library := filepath.Join(t.TempDir(), "plt.so")
		for _, args := range [][]string{
			append([]string{gcc, "-O2", "-shared", "-fPIC", "-o", library, source}, strings.Fields(flags)...),
			{strip, "-s", library},
		} {
			if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%q: %v\n%s", args, err, out)
			}
		}
		out, err := exec.Command(objdump, "-d", library).Output()
		if err != nil {
			t.Fatal(err)
		}
		f, err := Open(library)
		if err != nil {
			t.Fatal(err)
		}
		entries, split := 0, false
		for line := range strings.Lines(string(out)) {
			address, name, ok := strings.Cut(strings.TrimSpace(line), " <")
			name, isEntry := strings.CutSuffix(name, "@plt>:")
			if !ok || !isEntry {
				continue
			}
			vaddr, err := strconv.ParseUint(address, 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			entries++
			b, ok := f.FunctionBounds(vaddr)
			if !ok || b.Start != vaddr || b.Name != name+"@plt" || !b.Exact {
				t.Errorf("%q: %#x is %+v, objdump says %s@plt", flags, vaddr, b, name)
			}
			if b, ok := f.FunctionBounds(vaddr + 7); !ok || b.Start < vaddr || b.End > vaddr+16 || b.Name != name+"@plt" {
				t.Errorf("%q: the end of the entry at %#x is %+v", flags, vaddr, b)
			} else if b.Start == vaddr+6 {
				split = true // a simulation from the start would not get there
				if code := f.Code(b.Start, 1); len(code) < 1 || code[0] != 0x68 {
					t.Errorf("%q: %#x is no push: %x", flags, b.Start, code)
				}
			}
		}
		if lazy := flags == ""; entries < 2 || lazy && !split {
			t.Errorf("%q: objdump names %d entries; one is split behind its jump: %v", flags, entries, split)
		}
	}
}
