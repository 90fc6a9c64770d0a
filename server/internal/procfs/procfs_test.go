package procfs

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"unsafe"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/unwind"
)

func TestStatusField(t *testing.T) {
	status := Status("Name:\ta: b\nState:\tZ (zombie)\nTgid:\t17\n")
	for name, want := range map[string]string{"Name": "a: b", "State": "Z (zombie)", "TracerPid": "", "Nam": ""} {
		if got := status.Field(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if status.Number("Tgid") != 17 || status.Number("State") != 0 {
		t.Error("the numbers of fields")
	}
}

// TestSelf: this process knows its own ID, and that its code can be executed.
func TestSelf(t *testing.T) {
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	if status, err := ReadStatus(os.Getpid()); err != nil || status.Number("Pid") != os.Getpid() {
		t.Errorf("%q, %v", status, err)
	}
	if _, err := ReadStatus(1 << 30); !os.IsNotExist(err) {
		t.Error(err)
	}
	maps, err := Maps(os.Getpid())
	if err != nil || len(Ranges(maps, "x")) == 0 || len(Ranges(maps, "w")) == 0 {
		t.Errorf("%v, %v", maps, err)
	}
}

func TestRanges(t *testing.T) {
	maps := []imagemap.Mapping{{Start: 1, End: 2, Perm: "r-xp"}, {Start: 3, End: 4, Perm: "rw-p"}}
	if got := Ranges(maps, "x"); len(got) != 1 || got[0].Start != 1 {
		t.Errorf("%v", got)
	}
}

// TestMemory: this process's own memory is read in one piece, or not at all.
func TestMemory(t *testing.T) {
	testneed.Platform(t, "linux/amd64", "linux/arm64")
	page := make([]byte, 3*4096)
	for i := range page {
		page[i] = byte(i * 7)
	}
	m, got := Memory(os.Getpid()), make([]byte, len(page))
	if err := m.ReadMemory(uint64(uintptr(unsafe.Pointer(&page[0]))), got); err != nil || !bytes.Equal(got, page) {
		t.Error(err)
	}
	var e *unwind.MemoryError
	if err := m.ReadMemory(8, got); !errors.As(err, &e) || e.Addr != 8 || e.Size != len(got) {
		t.Errorf("what is not mapped: %v", err)
	}
}
