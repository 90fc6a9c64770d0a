//go:build linux && (amd64 || arm64)

package stand

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clewdbg/clew/integration/internal/program"
	"github.com/clewdbg/clew/internal/testneed"
)

// TestHold: the program stands at the instruction that was asked for, stopped,
// not traced, its code unchanged; and it came there undisturbed.
func TestHold(t *testing.T) {
	testneed.Ptrace(t)
	v := program.Variants[0]
	tools, err := v.Tools()
	if err != nil {
		testneed.LeaveOut(t, "%v", err)
	}
	p, err := v.Build(t.TempDir(), tools)
	if err != nil {
		t.Fatal(err)
	}
	hold := func(stop string, place Place) (*Stand, []program.Entry, error) {
		stem := filepath.Join(t.TempDir(), "record")
		args := []string{p.Path, "plain", stop, stem}
		if place.Name != "" {
			args = append(args, "ready")
		}
		s, err := Hold(Config{Args: args, Env: p.Env(), Where: stem + ".where", Place: place, Patience: 2 * time.Minute})
		if err != nil {
			return nil, nil, err
		}
		t.Cleanup(s.Close)
		record, err := program.ReadRecord(stem, s.Thread)
		return s, record, err
	}
	for _, place := range []Place{{}, {Name: "leaf_break"}, {Name: "leaf_break", Steps: 3}} {
		stop := "int3"
		if place.Name != "" {
			stop = "break"
		}
		s, record, err := hold(stop, place)
		if err != nil {
			t.Fatal(err)
		}
		if at := s.PC - record[0].Fn; at > 64 || (at == 0) != (place.Name != "" && place.Steps == 0) {
			t.Errorf("%+v: stands at %#x, %d bytes into its function", place, s.PC, at)
		}
		status, err := os.ReadFile("/proc/" + strconv.Itoa(s.PID) + "/status")
		if err != nil {
			t.Fatal(err)
		}
		if text := string(status); !strings.Contains(text, "State:\tT (stopped)") || !strings.Contains(text, "TracerPid:\t0\n") {
			t.Errorf("%+v: neither stopped nor left alone: %s", place, text)
		}
		memory, err := os.Open("/proc/" + strconv.Itoa(s.PID) + "/mem")
		if err != nil {
			t.Fatal(err)
		}
		defer memory.Close()
		var code [4]byte
		if _, err := memory.ReadAt(code[:], int64(record[0].Fn)); err != nil || isBreakpoint(code[:]) {
			t.Errorf("%+v: there is a breakpoint in its code, or %v", place, err)
		}
	}
	if _, _, err := hold("break", Place{Name: "nowhere"}); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("a place that there is not: %v", err)
	}
	if _, _, err := hold("break", Place{Name: "leaf_tiny"}); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("a place that is not reached: %v", err)
	}
}
