package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// snapshotsOfRun is how many snapshots one run unwinds.
const snapshotsOfRun = 24_000

// streamed measures `clew unwind` over a stream of snapshots.
func streamed(t *table, program string) error {
	t.title = fmt.Sprintf("`clew unwind` over a stream of %d snapshots", snapshotsOfRun)
	t.notes = []string{"A snapshot of one stop again and again, as `clew stack --format snapshot` writes them, on standard input; answers are compared\n" +
		"with the stack that was seen live. CPU is that of the command and its strategies."}
	servers, err := t.servers(filepath.Dir(program))
	if err != nil {
		return err
	}
	builds := servers[1:]
	t.header = []string{"frames", "in", "bytes each", "build", "snapshots", "workers", "wall", "CPU", "a second and core", "most memory"}
	for _, of := range []struct {
		in where
		n  int
	}{{inGo, 2}, {inC, shallow}} {
		one, err := snapshotOf(builds[0].exe, program, of.in, of.n)
		if err != nil {
			return err
		}
		for i, b := range builds {
			runs := []stream{{b, 1, snapshotsOfRun}, {b, runtime.NumCPU(), snapshotsOfRun}}
			if i > 0 {
				runs = []stream{{b, 0, snapshotsOfRun / 10}} // an older build knows no workers
			}
			for _, s := range runs {
				row, err := s.unwind(one)
				if err != nil {
					return err
				}
				t.row(slices.Concat([]string{fmt.Sprint(of.n), of.in.name, fmt.Sprint(len(one))}, row)...)
			}
		}
	}
	return nil
}

// stream is one run of `clew unwind`.
type stream struct {
	server
	workers   int // 0: the flag is not known
	snapshots int
}

// snapshotOf takes a snapshot of a stop.
func snapshotOf(clew, program string, in where, n int) ([]byte, error) {
	pulse := filepath.Join(filepath.Dir(program), "pulse")
	cmd := exec.Command(clew, "stack", "--format", "snapshot", "--break", in.location, "--", program, in.scenario, fmt.Sprint(n), pulse)
	out, err := cmd.Output()
	if err == nil && bytes.Count(out, []byte("\n")) != 1 {
		err = errors.New("it is not one line")
	}
	if err != nil {
		return nil, fmt.Errorf("a snapshot: %w", err)
	}
	return out, nil
}

// unwind unwinds a snapshot again and again, and returns the run's cells.
func (s *stream) unwind(one []byte) ([]string, error) {
	args := []string{"unwind", "-"}
	if s.workers > 0 {
		args = append(args, "--workers", fmt.Sprint(s.workers))
	}
	cmd := exec.Command(s.exe, args...)
	cmd.Stdin = &repeated{text: one, left: s.snapshots}
	var answers lines
	cmd.Stdout, cmd.Stderr = &answers, os.Stderr
	begun := time.Now()
	err := cmd.Run()
	took := time.Since(begun)
	if err == nil && int(answers) != s.snapshots {
		err = fmt.Errorf("%d answers", answers)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: unwind: %w", s.name, err)
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return []string{
		s.name, fmt.Sprint(s.snapshots), fmt.Sprint(max(s.workers, 1)), fmt.Sprintf("%.1f s", took.Seconds()), fmt.Sprintf("%.1f s", cpu.Seconds()),
		fmt.Sprintf("%.0f", float64(s.snapshots)/cpu.Seconds()), megabytes(peak(cmd.ProcessState)),
	}, nil
}

// repeated is a text, so many times.
type repeated struct {
	text []byte
	left int
	at   int
}

// Read implements io.Reader.
func (r *repeated) Read(p []byte) (n int, err error) {
	for n < len(p) && r.left > 0 {
		k := copy(p[n:], r.text[r.at:])
		n, r.at = n+k, r.at+k
		if r.at == len(r.text) {
			r.at, r.left = 0, r.left-1
		}
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// lines counts the lines that are written to it.
type lines int

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	*l += lines(bytes.Count(p, []byte("\n")))
	return len(p), nil
}

// peak is the most memory that a process that has ended, or one below it, had.
func peak(s *os.ProcessState) int64 {
	if u, ok := s.SysUsage().(*syscall.Rusage); ok {
		return u.Maxrss << 10
	}
	return 0
}
