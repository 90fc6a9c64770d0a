package pluginhost

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdbg/clew/internal/elffile"
)

// thirdPartyFake makes the fake a third party's plugin.
func thirdPartyFake(t *testing.T, memoryMiB int) func(*Options) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return func(o *Options) {
		c := &o.Plugins[0]
		c.Path, c.SHA256, c.Args, c.MemoryMiB = self, checksum(t, self), []string{"plugin", c.Name}, memoryMiB
	}
}

func withRaceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// TestMemoryBound: a plugin that allocates without bound ends, and the host goes on.
func TestMemoryBound(t *testing.T) {
	if withRaceDetector() {
		t.Log("the race detector's own memory is beyond the bound: the tests without it cover this")
		return
	}
	_, p, _ := newHost(t, thirdPartyFake(t, 1024))
	checkWalk(t, p, 3)
	var limit, most uint64
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid(t, p)) + "/limits")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, "Max data size"); ok {
			fields := strings.Fields(text)
			limit, _ = strconv.ParseUint(fields[0], 10, 64)
			most, _ = strconv.ParseUint(fields[1], 10, 64)
		}
	}
	if limit != 1<<30 || most != limit {
		t.Errorf("the bound is %d of %d bytes", limit, most)
	}
	if _, err := p.Walk(context.Background(), order(pcHoard)); err == nil {
		t.Error("8 GiB were allocated")
	}
	checkWalk(t, p, 3)
}

// TestGroupEnds: what a plugin has started ends with it.
func TestGroupEnds(t *testing.T) {
	h, p, _ := newHost(t, nil)
	results, err := p.Walk(context.Background(), order(pcStart))
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(results[0].Reason)
	if err != nil || syscall.Kill(child, 0) != nil {
		t.Fatalf("%q, %v", results[0].Reason, err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); !ended(child); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			_ = syscall.Kill(child, syscall.SIGKILL)
			t.Fatalf("process %d lives on", child)
		}
	}
}

// TestStrayEnds: what a third party's plugin has started ends with it in a session of its own, too.
func TestStrayEnds(t *testing.T) {
	h, p, _ := newHost(t, thirdPartyFake(t, 0))
	results, err := p.Walk(context.Background(), order(pcStray))
	if err != nil {
		t.Fatal(err)
	}
	stray, err := strconv.Atoi(results[0].Reason)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		if group, err := syscall.Getpgid(stray); err == nil && group == stray {
			break
		} else if time.Now().After(end) {
			t.Fatalf("process %d: %v", stray, err)
		}
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); !ended(stray); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			_ = syscall.Kill(stray, syscall.SIGKILL)
			t.Fatalf("process %d lives on", stray)
		}
	}
}

// ended says whether a process has ended, also if nothing reaps it.
func ended(pid int) bool {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH)
	}
	return strings.Contains(string(status), ") Z ")
}

// TestMemoryOfAll: a plugin that has more memory than it may with what it has started is ended and switched off.
func TestMemoryOfAll(t *testing.T) {
	h, p, _ := newHost(t, thirdPartyFake(t, 512))
	h.rest = rest{time.Hour, 50 * time.Millisecond}
	checkWalk(t, p, 3)
	if _, err := p.Walk(context.Background(), order(pcHoardApart)); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); h.Health()[0].State == StateRunning; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is still running")
		}
	}
	var much *MemoryError
	if _, err := p.Walk(context.Background(), order(pcReport)); !errors.As(err, &much) || much.Have <= much.Most || much.Most != 512<<20 {
		t.Error(err)
	}
}

// TestNoHandshake: a program that is no plugin, and says nothing, is waited for once.
func TestNoHandshake(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	_, p, _ := newHost(t, func(o *Options) {
		c := &o.Plugins[0]
		c.Path, c.SHA256, c.Args = sleep, checksum(t, sleep), []string{"600"}
		o.StartTimeout = 3 * time.Second
	})
	begin := time.Now()
	if _, err := p.Walk(context.Background(), order(pcReport)); err == nil || errors.As(err, new(*CrashError)) {
		t.Error(err)
	}
	if took := time.Since(begin); took < 3*time.Second || took >= 6*time.Second {
		t.Errorf("%v", took)
	}
}

// TestFIFOAsPlugin: a path that is no file is refused at once.
func TestFIFOAsPlugin(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	_, p, _ := newHost(t, func(o *Options) {
		c := &o.Plugins[0]
		c.Path, c.SHA256 = fifo, strings.Repeat("0", 64)
	})
	if _, err := p.Walk(context.Background(), order(pcReport)); !errors.Is(err, elffile.ErrNotRegular) {
		t.Error(err)
	}
}
