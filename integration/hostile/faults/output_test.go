//go:build linux

package faults

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReaderGone closes clew's output after the first line, as head -1 does.
func TestReaderGone(t *testing.T) {
	need(t)
	for _, attach := range []bool{false, true} {
		t.Run(fmt.Sprintf("attach=%v", attach), func(t *testing.T) {
			args := []string{"stack", "--", patientPath(), "deep", fmt.Sprint(deepFrames)}
			var pid int
			var pulseFile string
			if attach {
				pid, pulseFile = patient(t, deepFrames)
				args = []string{"stack", "--goroutine", "current", "--pid", fmt.Sprint(pid)}
			}
			r := startStuck(t, args...)
			line, err := bufio.NewReaderSize(r.pipe, 16).ReadString('\n')
			if err != nil || !strings.Contains(line, "goroutine") && !strings.Contains(line, "thread") {
				t.Errorf("first line %q, %v", line, err)
			}
			_ = r.pipe.Close()
			r.wait()
			if r.cmd.ProcessState.ExitCode() != 0 {
				t.Errorf("ended with %v", r.cmd.ProcessState)
			}
			if n := strings.Count(r.stderr.String(), "\n"); n > 0 {
				t.Errorf("%d lines on stderr: %s", n, r.stderr.String())
			}
			r.gone(!attach)
			if attach {
				goesOn(t, pid, pulseFile)
			}
		})
	}
}

// TestNoSpace writes where nothing, or not everything, can be written: one line
// that says where, exit code 1, and no half of a file.
func TestNoSpace(t *testing.T) {
	need(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	dir := t.TempDir()
	notFolder := filepath.Join(dir, "file")
	if err := os.WriteFile(notFolder, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := filepath.Join(dir, "before.json")
	if err := os.WriteFile(before, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	program := []string{"--", patientPath(), "deep", fmt.Sprint(deepFrames)}
	for _, c := range []struct {
		name   string
		stdout *os.File
		flags  []string
		says   string // in the line
		small  bool   // with a limit on the size of files
	}{
		{name: "stdout-full", stdout: full, says: "no space left"},
		{name: "device-full", flags: []string{"--format", "json", "-o", "/dev/full"}, says: "/dev/full"},
		{name: "no-folder", flags: []string{"--format", "json", "-o", filepath.Join(dir, "none", "x.json")}, says: "none"},
		{name: "file-as-folder", flags: []string{"--format", "cbf", "--thread", "all", "-o", notFolder}, says: notFolder},
		{name: "json-too-large", flags: []string{"--format", "json", "-o", before}, says: before, small: true},
		{name: "cbf-too-large", flags: []string{"--format", "cbf", "-o", filepath.Join(dir, "x.cbf")}, says: filepath.Join(dir, "x.c"), small: true},
		{name: "snapshot-too-large", flags: []string{"--format", "snapshot", "-o", filepath.Join(dir, "x.snap")}, says: filepath.Join(dir, "x.snap"), small: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append(append([]string{"stack"}, c.flags...), program...)
			if c.small {
				// A full disk that needs no root: files of at most 16 bytes. Go
				// programs ignore SIGXFSZ, so writes fail.
				defer limitFiles(t, 16)()
			}
			r := start(t, c.stdout, args...)
			code := r.wait()
			r.gone(true)
			stderr := strings.TrimSpace(r.stderr.String())
			if code != 1 || strings.Count(stderr, "\n") != 0 || !strings.HasPrefix(stderr, "clew: ") || !strings.Contains(stderr, c.says) {
				t.Errorf("exit code %d, stderr %q; want 1 and one line with %q", code, stderr, c.says)
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != 2 {
				t.Errorf("left behind: %v, %v", left, err)
			}
			for path, want := range map[string]string{notFolder: "mine", before: "old"} {
				if got, _ := os.ReadFile(path); string(got) != want {
					t.Errorf("%s holds %.20q", path, got)
				}
			}
		})
	}
}

// limitFiles bounds the size of files that we and our children write.
func limitFiles(t *testing.T, bytes uint64) (restore func()) {
	t.Helper()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
			t.Error(err)
		}
	}
}
