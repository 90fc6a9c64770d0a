//go:build linux

package faults

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// processes returns the running processes of an executable, zombies left out,
// with their arguments.
func processes(t testing.TB, exe string) map[int][]string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[int][]string)
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if link, err := os.Readlink(filepath.Join("/proc", e.Name(), "exe")); err != nil || link != exe {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err == nil && state(pid) != "Z" {
			found[pid] = strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
		}
	}
	return found
}

// pluginOf returns the running plugin of that name, 0 if there is none.
func pluginOf(host int, name string) int {
	children, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", host))
	for _, path := range children {
		list, _ := os.ReadFile(path)
		for _, field := range strings.Fields(string(list)) {
			line, _ := os.ReadFile(filepath.Join("/proc", field, "cmdline"))
			if bytes.HasSuffix(line, []byte("\x00plugin\x00"+name+"\x00")) {
				pid, _ := strconv.Atoi(field)
				return pid
			}
		}
	}
	return 0
}

// state is a process's state letter (proc_pid_status(5)), "" if it is gone.
func state(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(text), "\nState:")
	rest = strings.TrimSpace(rest)
	return rest[:min(1, len(rest))]
}

// second is the time in which everything of a dead clew must be gone: a second
// of a machine that has nothing else to do.
func second() time.Duration {
	text, _ := os.ReadFile("/proc/loadavg")
	load, _ := strconv.ParseFloat(strings.SplitN(string(text), " ", 2)[0], 64)
	return time.Duration(float64(time.Second) * max(1, load/2))
}

// within tries until check returns "" or the time is over, and returns its
// last problem, and how long it took.
func within(limit time.Duration, check func() string) (string, time.Duration) {
	begin := time.Now()
	for {
		problem := check()
		if since := time.Since(begin); problem == "" || since > limit {
			return problem, since
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// pulse reads the program's counters: C's and Go's.
func pulse(path string) (c, g uint64) {
	data, err := os.ReadFile(path)
	if err != nil || len(data) < 16 {
		return 0, 0
	}
	return binary.NativeEndian.Uint64(data), binary.NativeEndian.Uint64(data[8:])
}

// codeDiffers compares a process's code with its executable's, and says where
// they differ.
func codeDiffers(t testing.TB, pid int, exe string) string {
	t.Helper()
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Type != elf.ET_EXEC {
		t.Fatalf("%s is %v: its addresses are not those of the process", exe, f.Type)
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return err.Error()
	}
	defer mem.Close()
	compared := 0
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD || p.Flags&elf.PF_X == 0 {
			continue
		}
		want, got := make([]byte, p.Filesz), make([]byte, p.Filesz)
		if _, err := p.ReadAt(want, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := mem.ReadAt(got, int64(p.Vaddr)); err != nil {
			return err.Error()
		}
		compared += len(want)
		for i := range want {
			if want[i] != got[i] {
				return fmt.Sprintf("the code at %#x is %#x, in the file %#x", p.Vaddr+uint64(i), got[i], want[i])
			}
		}
	}
	if compared == 0 {
		t.Fatalf("%s has no code", exe)
	}
	return ""
}
