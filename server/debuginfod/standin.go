package debuginfod

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// ProgramName is what elfutils' client is called.
const ProgramName = "debuginfod-find"

// How long Delve may wait for a server, and how long once one was slow, which is
// remembered for a while.
const (
	patience      = 3 * time.Second
	patienceAfter = 100 * time.Millisecond
	slowFor       = time.Minute
)

// StandIn has Delve find clew as its debuginfod-find. When Delve starts a program it runs
// that for every image without debug information, one after the other, waits without a
// bound, and believes what comes: with the file of another build, every function of a
// stripped program has a wrong name. See [Find].
//
// It puts a folder before PATH, which programs that Delve starts inherit; only where
// elfutils' program is installed and servers are set.
func StandIn() error {
	if os.Getenv("DEBUGINFOD_URLS") == "" || installed() == "" {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := standInFolder()
	if err != nil {
		return err
	}
	link := filepath.Join(dir, ProgramName)
	if to, err := os.Readlink(link); err != nil || to != self {
		next := fmt.Sprintf("%s.%d", link, os.Getpid())
		_ = os.Remove(next) // of a process that was killed here and had the same ID
		if err := os.Symlink(self, next); err != nil {
			return err
		}
		if err := os.Rename(next, link); err != nil {
			return err
		}
	}
	return os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func standInFolder() (string, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return os.MkdirTemp("", "clew-")
	}
	dir := filepath.Join(user, "clew", "bin")
	return dir, os.MkdirAll(dir, 0o700)
}

// installed returns the path of elfutils' program, "" if it is missing. This program under
// its name does not count.
func installed() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	own, err := os.Stat(self)
	if err != nil {
		return ""
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, ProgramName)
		if info, err := os.Stat(path); err == nil && filepath.IsAbs(path) && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && !os.SameFile(info, own) {
			return path
		}
	}
	return ""
}

// Find does what debuginfod-find does with the same arguments, and returns its exit code.
// A file counts only if it is of the build that was asked for. Without --verbose, where
// no user sees what is waited for, it waits only a moment.
func Find(args []string, out, progress io.Writer) int {
	watched := len(args) > 0 && args[0] == "--verbose"
	if watched {
		args = args[1:]
	}
	path, err := find(args, watched, func(p Progress) {
		if watched {
			fmt.Fprintf(progress, "Progress %d / %d\n", p.Received, p.Size)
		}
	})
	if err != nil {
		fmt.Fprintf(progress, "Server query failed: %v\n", err)
		return 1
	}
	fmt.Fprintln(out, path)
	return 0
}

func find(args []string, watched bool, progress func(Progress)) (string, error) {
	r, err := requestOf(args)
	if err != nil {
		return "", err
	}
	c, err := FromEnvironment(os.Getenv)
	if err != nil {
		return "", err
	}
	ctx := context.Background()
	if !watched {
		slow := filepath.Join(c.Cache, "clew-slow")
		bound := patience
		if info, err := os.Stat(slow); err == nil && time.Since(info.ModTime()) < slowFor {
			bound = patienceAfter
		}
		bounded, cancel := context.WithTimeout(ctx, bound)
		defer cancel()
		ctx = bounded
		defer func() {
			if ctx.Err() != nil && os.MkdirAll(c.Cache, 0o700) == nil {
				_ = os.WriteFile(slow, nil, 0o600) // without it the next one waits as long
			}
		}()
	}
	return New(c).Get(ctx, r, progress)
}

// requestOf reads the arguments of debuginfod-find: a kind, a build ID, and the path of a
// source.
func requestOf(args []string) (r Request, err error) {
	if len(args) < 2 {
		return r, fmt.Errorf("%w: %q", errRequest, args)
	}
	kind := slices.Index(kindNames[:], args[0])
	if kind < 0 {
		return r, fmt.Errorf("%w: %q", errRequest, args[0])
	}
	r.Kind = Kind(kind)
	if r.BuildID, err = hex.DecodeString(args[1]); err != nil {
		return r, fmt.Errorf("%w: %w", errRequest, err)
	}
	if len(args) > 2 {
		r.Path = args[2]
	}
	return r, r.check()
}
