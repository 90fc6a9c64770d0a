package cause

import (
	"strings"
	"syscall"
	"testing"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/unwind"
)

// TestWhatLies: what is said of an address, by the mappings and the threads' stacks.
func TestWhatLies(t *testing.T) {
	maps := []imagemap.Mapping{
		{Start: 0x1000, End: 0x2000, Perm: "r-xp", Path: "/bin/x"},
		{Start: 0x3000, End: 0x4000, Perm: "---p"},
		{Start: 0x4000, End: 0x8000, Perm: "rw-p"},
		{Start: 0x9000, End: 0xa000, Perm: "---p"},
		{Start: 0xb000, End: 0xc000, Perm: "rw-p"},
		{Start: 0x7f0000000, End: 0x7f0004000, Perm: "rw-p", Path: "[stack]"},
	}
	stack := func(id, low, high uint64, kind unwind.SegmentKind) reading.Thread {
		th := reading.Thread{}
		th.ID, th.Segments = id, []unwind.Segment{{Low: low, High: high, Kind: kind}}
		return th
	}
	threads := []reading.Thread{
		stack(1, 0xb000, 0xc000, unwind.SegmentGoroutine), stack(2, 0x5000, 0x8000, unwind.SegmentThread),
		stack(3, 0x7f0001000, 0x7f0004000, unwind.SegmentG0), {},
	}
	for at, want := range map[uint64]string{
		0x10: "unmapped", 0x1fff: "/bin/x, readable and executable (0x1000-0x2000)", 0x2000: "unmapped",
		0x3fff: "guard page below the stack of thread 2, which has overflown", 0x4000: "memory without a file, readable and writable (0x4000-0x8000)",
		0x9000: "memory without a file, no access (0x9000-0xa000)", 0xaff0: "unmapped",
		0x7efffffff: "unmapped, 1 bytes below the stack of thread 3, which has overflown", 0x7e0000000: "unmapped",
	} {
		if got := whatLies(at, maps, threads); got != want {
			t.Errorf("%#x: %s, want %s", at, got, want)
		}
	}
}

// TestFaultWords: a signal is described by its number and code.
func TestFaultWords(t *testing.T) {
	for _, c := range []struct {
		Fault
		want string
	}{
		{Fault{syscall.SIGSEGV, 1, 0x10, 0, "a read"}, "SIGSEGV: a read at 0x10: THERE"},
		{Fault{syscall.SIGSEGV, codeKernel, 0, 0, "a read"}, "SIGSEGV: the processor has refused an access"},
		{Fault{syscall.SIGSEGV, 0, 77, 0, ""}, "SIGSEGV: sent by process 77"},
		{Fault{syscall.SIGABRT, -6, 5<<32 | 42, 0, ""}, "SIGABRT: sent by the program itself"},
		{Fault{syscall.SIGBUS, busNoFile, 0x20, 0, "a write"}, "SIGBUS: a write at 0x20, beyond the end of the file: THERE"},
		{Fault{syscall.SIGBUS, busMisplaced, 0x21, 0, "a write"}, "SIGBUS: a write at 0x21, which is not aligned: THERE"},
		{Fault{syscall.SIGFPE, fpeDivision, 0x30, 0, ""}, "SIGFPE: an integer was divided by zero"},
		{Fault{syscall.SIGFPE, 3, 0x30, 0, ""}, "SIGFPE: code 3 at 0x30"},
		{Fault{syscall.SIGILL, 2, 0x30, 0, ""}, "SIGILL: illegal instruction at 0x30"},
		{Fault{syscall.Signal(99), 1, 0x30, 0, ""}, "signal 99: code 1 at 0x30"},
	} {
		if got := c.Name() + ": " + c.describe(42, "THERE"); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// TestAccess: what was tried, by the processor's own word. On arm64 it counts only for the address that was noted with it.
func TestAccess(t *testing.T) {
	for bits, want := range map[uint64]string{0x4: aRead, 0x6: aWrite, 0x14: aJump, 0x15: aJump} {
		if got := accessAMD64(bits); got != want {
			t.Errorf("error code %#x: %s, want %s", bits, got, want)
		}
	}
	const fetch, misaligned, data, trap = 0x20 << 26, 0x22 << 26, 0x24 << 26, 0x3c << 26
	for _, c := range []struct {
		syndrome, noted, address uint64
		want                     string
	}{
		{data | 0x06, 0x10, 0x10, aRead},
		{data | 0x46, 0x10, 0x10, aWrite},
		{data | 0x146, 0x10, 0x10, aRead}, // an instruction for the cache
		{data | 0x46, 0x10, 0x3<<56 | 0x10, aWrite},
		{fetch | 0x06, 0, 0, aJump},
		{misaligned, 0, 0x1002, aJump},
		{misaligned, 0, 0x1000, anAccess},
		{data | 0x46, 0x18, 0x10, anAccess}, // an earlier one
		{fetch | 0x06, 0x18, 0x10, anAccess},
		{trap, 0x10, 0x10, anAccess},
	} {
		if got := accessARM64(c.syndrome, c.noted, c.address); got != c.want {
			t.Errorf("syndrome %#x, noted %#x, address %#x: %s, want %s", c.syndrome, c.noted, c.address, got, c.want)
		}
	}
}
