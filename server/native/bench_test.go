package native

import (
	"os"
	"os/exec"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// large is a library of C++ with some 180 MB of debugging information (Debian: librados2-dbg).
const large = "/usr/lib/x86_64-linux-gnu/ceph/libceph-common.so.2"

// BenchmarkFirst measures the first lookup in a large file, with all that must be read for it, beside GDB's.
func BenchmarkFirst(b *testing.B) {
	if _, err := os.Stat(large); err != nil {
		testneed.LeaveOut(b, "no file %s", large)
	}
	for _, spec := range []string{"Objecter::op_submit", "Objecter.cc:2400", "nothing_has_this_name"} {
		b.Run("clew/"+spec, func(b *testing.B) {
			for b.Loop() {
				_, _ = open(b, large).Locate(spec)
			}
		})
		b.Run("gdb/"+spec, func(b *testing.B) {
			gdb := testneed.Tool(b, "gdb")
			for b.Loop() {
				_ = exec.Command(gdb, "-nx", "-batch", "-iex", "set debuginfod enabled off", "-ex", "break "+spec, large).Run()
			}
		})
	}
}
