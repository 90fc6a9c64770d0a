// Package walktest helps tests of unwinders: it passes them images, makes
// requests of synthetic stacks, and compares the results of walks.
package walktest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// With passes images to an unwinder, which must have no problems.
func With(t testing.TB, u unwind.Unwinder, arch unwind.Arch, pacMask uint64, images ...unwind.Image) {
	t.Helper()
	reports, err := u.Update(context.Background(), unwind.ImageDelta{Arch: arch, OS: "linux", Added: images, PACMask: pacMask})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		if r.Problem != "" {
			t.Fatalf("image %d: %s", r.ID, r.Problem)
		}
	}
}

// Request makes a request to walk from a frame on a stack.
func Request(t testing.TB, arch unwind.Arch, kind unwind.PCKind, s *stackasm.Stack, regs stackasm.Values) unwind.WalkRequest {
	t.Helper()
	m, err := s.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Registers(arch, regs)
	if err != nil {
		t.Fatal(err)
	}
	return unwind.WalkRequest{Arch: arch, Registers: r, Kind: kind, Segment: m.Segment(unwind.SegmentThread),
		Stack: m.Windows(), MaxFrames: 100, AllRegisters: true}
}

// Wants walks, and compares callers, reason for stopping and a part of its text.
func Wants(t *testing.T, u unwind.Unwinder, r unwind.WalkRequest, callers []uint64, stop unwind.WalkStop, reason string) unwind.WalkResult {
	t.Helper()
	results, err := u.Walk(context.Background(), []unwind.WalkRequest{r})
	if err != nil || len(results) != 1 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	result := results[0]
	for i := range max(len(result.Steps), len(callers)) {
		got, want := "none", "none"
		if i < len(result.Steps) {
			pc, _ := result.Steps[i].Caller.PC(r.Arch)
			got = fmt.Sprintf("%#x", pc)
		}
		if i < len(callers) {
			want = fmt.Sprintf("%#x", callers[i])
		}
		if got != want {
			t.Errorf("caller %d of %d: %s, want %s of %d", i, len(result.Steps), got, want, len(callers))
			break
		}
	}
	if result.Stop != stop || !strings.Contains(result.Reason, reason) {
		t.Errorf("stop %v %q, want %v %q", result.Stop, result.Reason, stop, reason)
	}
	return result
}
