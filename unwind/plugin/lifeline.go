package plugin

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
)

const (
	// EnvLifeline names the variable with the life-line's file descriptor.
	EnvLifeline = "CLEW_PLUGIN_LIFELINE"
	// EnvSession names the variable with the session's folder.
	EnvSession = "CLEW_PLUGIN_SESSION"
	// SessionPrefix is how a session folder's name starts.
	SessionPrefix = "clew-plugins-"
	// LockName is the file in a session folder that the living host has locked
	// (flock).
	LockName = "lock"
)

// A dying host's descriptors close one after another: its lock may still be
// held for a moment when the life-line has ended.
const (
	lockTries = 20
	lockPause = 10 * time.Millisecond
)

// watchLifeline ends the process when the life-line does. Without one (the
// process was not started by clew's host) it does nothing; go-plugin then says
// what the program is.
func watchLifeline() {
	fd, err := strconv.Atoi(os.Getenv(EnvLifeline))
	if err != nil || fd < 3 {
		return
	}
	syscall.CloseOnExec(fd) // a child of the plugin must not hold it
	pipe := os.NewFile(uintptr(fd), "life-line")
	if pipe == nil {
		return
	}
	session, sockets := os.Getenv(EnvSession), os.Getenv(goplugin.EnvUnixSocketDir)
	go func() {
		var order [1]byte
		n, _ := pipe.Read(order[:])
		if err := cleanUp(session, sockets, n > 0); err != nil {
			fmt.Fprintln(os.Stderr, "plugin:", err)
		}
		os.Exit(0)
	}()
}

// cleanUp removes the plugin's own folder and, unless the host lives and just
// wants this plugin to end, the session's.
func cleanUp(session, sockets string, hostLives bool) error {
	if !strings.HasPrefix(filepath.Base(session), SessionPrefix) || !filepath.IsAbs(session) {
		return fmt.Errorf("%s names no session folder: %q", EnvSession, session)
	}
	if filepath.Dir(sockets) == session {
		if err := os.RemoveAll(sockets); err != nil {
			return err
		}
	}
	if hostLives {
		return nil
	}
	for range lockTries {
		gone, err := RemoveDeadSession(session)
		if gone && err == nil {
			return nil
		}
		if _, err := os.Lstat(filepath.Join(session, LockName)); os.IsNotExist(err) {
			// The lock was there before this plugin was, so another plugin of the
			// session is removing it. Entries that were in its way must go as well.
			if os.RemoveAll(session) == nil {
				return nil
			}
		}
		time.Sleep(lockPause)
	}
	return nil // somebody holds the lock: the host lives after all
}

// RemoveDeadSession removes a session's folder if no living host has it locked,
// and says whether the folder is gone.
func RemoveDeadSession(session string) (gone bool, err error) {
	lock, err := os.OpenFile(filepath.Join(session, LockName), os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if os.IsNotExist(err) {
		// Removed already, or just being made.
		_, err := os.Lstat(session)
		return os.IsNotExist(err), nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return false, nil
	}
	return true, os.RemoveAll(session)
}
