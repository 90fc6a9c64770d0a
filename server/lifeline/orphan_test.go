package lifeline

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
	"github.com/clewdbg/clew/server/internal/procfs"
)

// A debugger that dies while it attaches has not reported its breakpoints.
func TestServeFindsUnnamedBreakpoints(t *testing.T) {
	testneed.Platform(t, "linux/amd64")
	testneed.Ptrace(t)
	cmd := sleeper(t)
	pid := cmd.Process.Pid
	stop(t, cmd) // or it would run into them
	exe, err := os.Readlink(procfs.Path(pid, "exe"))
	if err != nil {
		t.Fatal(err)
	}
	maps, err := procfs.Maps(pid)
	if err != nil {
		t.Fatal(err)
	}
	mem, err := os.OpenFile(procfs.Path(pid, "mem"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	for _, m := range maps {
		if m.Path != exe || !m.Executable() {
			continue
		}
		code := make([]byte, m.End-m.Start)
		if _, err := mem.ReadAt(code, int64(m.Start)); err != nil {
			t.Fatal(err)
		}
		for _, at := range []int{0, 100, len(code) / 2} {
			if _, err := mem.WriteAt(trap, int64(m.Start)+int64(at)); err != nil {
				t.Fatal(err)
			}
		}
		// Other differences are not ours to undo. Nothing runs at the end of the
		// last page.
		if _, err := mem.WriteAt([]byte{0x90}, int64(m.End)-1); err != nil {
			t.Fatal(err)
		}
		Serve(strings.NewReader(fmt.Sprintf("attach %d\n", pid)), nil)
		now := make([]byte, len(code))
		if _, err := mem.ReadAt(now, int64(m.Start)); err != nil {
			t.Fatal(err)
		}
		code[len(code)-1] = 0x90
		if !bytes.Equal(now, code) {
			t.Error("the code is not as it was")
		}
		return
	}
	t.Fatalf("%s has no code", exe)
}

func TestLaunchLine(t *testing.T) {
	for line, want := range map[string]*launch{
		`launch 12 34 "/a b/\"c\""`: {host: 12, session: "34", path: `/a b/"c"`},
		`launch 12 34`:              nil,
		`launch x 34 "/a"`:          nil,
		`launch 1 34 "/a"`:          nil,
		`launch 12 34 /a`:           nil,
	} {
		got := parseLaunch(line)
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%s: %+v, want %+v", line, got, want)
		}
	}
}

// What did not lose its parent with us is not the program that was started.
func TestStartedSparesOthers(t *testing.T) {
	cmd := sleeper(t)
	exe, err := os.Readlink(procfs.Path(cmd.Process.Pid, "exe"))
	if err != nil {
		t.Fatal(err)
	}
	l := &launch{host: 2, session: statField(cmd.Process.Pid, statSession), path: exe}
	if l.started(cmd.Process.Pid) {
		t.Error("a child of another process is taken for the program")
	}
}
