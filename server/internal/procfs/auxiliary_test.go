package procfs

import (
	"os"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestAuxiliary: this process's own vector has what the kernel has told it otherwise.
func TestAuxiliary(t *testing.T) {
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	const ignored, pageSize, absent = 1, 6, 0xffff // AT_IGNORE, AT_PAGESZ
	if size, ok := Auxiliary(os.Getpid(), pageSize); !ok || size != uint64(os.Getpagesize()) {
		t.Errorf("pages of %d bytes (%v), they have %d", size, ok, os.Getpagesize())
	}
	for _, kind := range []uint64{ignored, absent} {
		if word, ok := Auxiliary(os.Getpid(), kind); ok {
			t.Errorf("%d is %#x", kind, word)
		}
	}
	if _, ok := Auxiliary(-1, pageSize); ok {
		t.Error("a process that does not exist has a vector")
	}
}
