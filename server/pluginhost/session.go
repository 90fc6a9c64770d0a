package pluginhost

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/clewdbg/clew/unwind/plugin"
)

const (
	// maxSocketPath is the shortest limit of the systems we run on (darwin: 104
	// with the terminating zero; Linux: 108).
	maxSocketPath = 103
	// socketTail is what go-plugin appends to the session folder:
	// "/plugin-dir" and "/plugin" with ten digits each.
	socketTail = len("/plugin-dir1234567890/plugin1234567890")
	// lockGrace is how old a folder without a lock must be to count as left
	// behind; a younger one is being made.
	lockGrace = time.Minute
	// newLock is the ending of the lock's name until it is locked, and lockPause is
	// far longer than that takes.
	newLock   = ".new"
	lockPause = time.Second / 2
)

// session is a host's folder of sockets and checked executables.
type session struct {
	dir  string
	lock *os.File // held (flock) as long as the host lives
}

func newSession(parent string) (*session, error) {
	if len(parent)+len("/"+plugin.SessionPrefix+"1234567890")+socketTail > maxSocketPath {
		parent = "/tmp"
	}
	sweep(parent)
	dir, err := os.MkdirTemp(parent, plugin.SessionPrefix) // mode 0700
	if err != nil {
		return nil, fmt.Errorf("no folder for plugin sockets: %w", err)
	}
	s := &session{dir: dir}
	if err := s.takeLock(); err != nil {
		return nil, errors.Join(fmt.Errorf("no folder for plugin sockets: %w", err), os.RemoveAll(dir))
	}
	return s, nil
}

// takeLock locks a file first and then renames it to its name, so that no host sees
// it unlocked while the host lives.
func (s *session) takeLock() error {
	name := filepath.Join(s.dir, plugin.LockName)
	f, err := os.OpenFile(name+newLock, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return errors.Join(err, f.Close())
	}
	s.lock = f
	return nil
}

func (s *session) remove() error {
	return errors.Join(os.RemoveAll(s.dir), s.lock.Close())
}

// diedLocking says that a host died between making its lock and naming it.
func diedLocking(dir string) bool {
	f, err := os.OpenFile(filepath.Join(dir, plugin.LockName+newLock), os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	return err == nil && syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil && time.Since(info.ModTime()) > lockPause
}

// sweep removes session folders of hosts that are gone, as far as it can.
func sweep(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), plugin.SessionPrefix) {
			continue
		}
		if info, err := e.Info(); err == nil && ourFolder(info) {
			sweepSession(filepath.Join(parent, e.Name()), info.ModTime())
		}
	}
}

// ourFolder reports whether an entry is a folder of this user; info is of the entry
// itself, not of a link's target.
func ourFolder(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.IsDir() && int(st.Uid) == os.Getuid()
}

// sweepSession removes a session folder if its host is gone.
func sweepSession(dir string, made time.Time) {
	_, err := os.Lstat(filepath.Join(dir, plugin.LockName))
	switch {
	case err == nil:
		_, _ = plugin.RemoveDeadSession(dir)
	case errors.Is(err, os.ErrNotExist) && (time.Since(made) > lockGrace || diedLocking(dir)):
		_ = os.RemoveAll(dir)
	}
}
