package debuginfod

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// run has elfutils' debuginfod-find get the file, which it leaves in the cache.
func (c *Client) run(ctx context.Context, r Request, progress func(Progress)) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	args := []string{"-v", r.Kind.String(), r.id()}
	if r.Kind == Source {
		args = append(args, r.Path)
	}
	cmd := exec.CommandContext(ctx, c.config.Program, args...)
	cmd.Env = append(os.Environ(), c.environment()...)
	cmd.WaitDelay = time.Second
	cmd.Cancel = func() error {
		unfinished := openFiles(cmd.Process.Pid, filepath.Dir(c.cache.path(r)))
		err := cmd.Process.Kill()
		for _, path := range unfinished {
			_ = os.Remove(path)
		}
		return err
	}
	var out bytes.Buffer
	cmd.Stdout = &limited{&out, maxOutput}
	log := &programLog{report: func(received, size int64) {
		progress(Progress{Request: r, Received: received, Size: size})
		if received > c.config.MaxSize {
			// The program itself only checks the size that a server announces.
			cancel(&SizeError{c.config.MaxSize})
		}
	}}
	cmd.Stderr = log
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", log.failure(err)
	}
	path := strings.TrimRight(out.String(), "\n")
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("debuginfod-find wrote %q, which is no path", path)
	}
	if err := verifyFile(r, path); err != nil {
		return "", err
	}
	return path, nil
}

// environment is what the program needs beyond what the user has set.
func (c *Client) environment() []string {
	return []string{
		"LC_ALL=C",
		"DEBUGINFOD_URLS=" + strings.Join(c.config.URLs, " "),
		"DEBUGINFOD_CACHE_PATH=" + c.config.Cache,
		"DEBUGINFOD_TIMEOUT=" + wholeSeconds(c.config.Timeout),
		"DEBUGINFOD_MAXTIME=" + wholeSeconds(c.config.MaxTime),
		"DEBUGINFOD_MAXSIZE=" + strconv.FormatInt(c.config.MaxSize, 10),
		"DEBUGINFOD_RETRY_LIMIT=" + strconv.Itoa(c.config.Retries),
	}
}

func wholeSeconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// openFiles lists the files in a folder that a process has open: the temporary
// file that it leaves when it is killed. Only Linux tells.
func openFiles(pid int, folder string) (out []string) {
	fds := fmt.Sprintf("/proc/%d/fd", pid)
	entries, _ := os.ReadDir(fds)
	for _, e := range entries {
		if path, err := os.Readlink(filepath.Join(fds, e.Name())); err == nil && filepath.Dir(path) == folder {
			out = append(out, path)
		}
	}
	return out
}

// maxOutput bounds what is kept of the program's output, in bytes.
const maxOutput = 64 << 10

// limited keeps the first bytes that are written, and drops the rest.
type limited struct {
	to   *bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.to.Write(p[:n])
	l.left -= n
	return len(p), nil
}

// programLog reads what the program says, line by line.
type programLog struct {
	rest   []byte
	last   string // line that is not about progress
	report func(received, size int64)
}

// Write implements [io.Writer].
func (l *programLog) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte("\n"))
		if !ok {
			break
		}
		l.line(string(line))
		l.rest = rest
	}
	if len(l.rest) > bufio.MaxScanTokenSize {
		l.rest = nil
	}
	l.rest = bytes.Clone(l.rest)
	return len(p), nil
}

// line takes one line. "Progress A / B" has the bytes that came and, where it is
// known, of how many; before a server answers, A counts up from 1.
func (l *programLog) line(line string) {
	rest, ok := strings.CutPrefix(line, "Progress ")
	received, size, both := strings.Cut(rest, " / ")
	if !ok || !both {
		if line = strings.TrimSpace(line); line != "" {
			l.last = line
		}
		return
	}
	a, err := strconv.ParseInt(received, 10, 64)
	b, errB := strconv.ParseInt(size, 10, 64)
	if err == nil && errB == nil {
		l.report(a, b)
	}
}

// failure says why the program failed: "Server query failed: " and the text of an
// error number.
func (l *programLog) failure(err error) error {
	l.line(string(l.rest))
	reason := strings.TrimPrefix(l.last, "Server query failed: ")
	switch {
	case reason == "No such file or directory":
		return ErrNotFound
	case reason == "File too large":
		return errors.New("debuginfod-find: larger than DEBUGINFOD_MAXSIZE")
	case reason == "":
		return fmt.Errorf("debuginfod-find: %w", err)
	}
	return fmt.Errorf("debuginfod-find: %s", reason)
}

var _ io.Writer = (*programLog)(nil)
