package debuginfod

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Files in the cache's folder that hold one number, in seconds, made with these
// defaults when they are first needed.
const (
	missFile, defaultMiss         = "cache_miss_s", 600
	cleanFile, defaultClean       = "cache_clean_interval_s", 86400
	maxUnusedFile, defaultMaxUsed = "max_unused_age_s", 604800
)

// cache is the folder that elfutils' client keeps files in: HEX/debuginfo,
// HEX/executable and HEX/source##path. An empty file says that no server had it.
type cache struct{ folder string }

func (c cache) path(r Request) string { return filepath.Join(c.folder, r.id(), r.name()) }

// find returns the path of what is there. The error is [ErrNotFound] where a miss
// was noted lately, and [fs.ErrNotExist] where nothing is known.
func (c cache) find(r Request) (string, error) {
	path := c.path(r)
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	case info.Size() > 0:
		return path, nil
	case time.Since(info.ModTime()) <= c.setting(missFile, defaultMiss):
		return "", ErrNotFound
	}
	_ = os.Remove(path) // an old miss; where it stays, the file that comes replaces it
	return "", fmt.Errorf("%s: %w", path, fs.ErrNotExist)
}

// setting reads a control file, which is made where it is not there.
func (c cache) setting(name string, otherwise int64) time.Duration {
	path := filepath.Join(c.folder, name)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		// Not there afterwards: the default serves as well.
		_ = os.WriteFile(path, []byte(strconv.FormatInt(otherwise, 10)), 0o644)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n < 0 || n > int64(time.Duration(1<<63-1)/time.Second) {
		n = otherwise
	}
	return time.Duration(n) * time.Second
}

// create makes the temporary file that becomes r's, NAME.XXXXXX.
func (c cache) create(r Request) (*os.File, error) {
	path := c.path(r)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	for range 100 {
		f, err := os.OpenFile(path+"."+rand.Text()[:6], os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, fmt.Errorf("%s: no name for a temporary file is free", path)
}

// keep makes the temporary file r's, which it is from then on for all clients.
// modified is when the server's file was changed, zero if unknown.
func (c cache) keep(r Request, f *os.File, modified time.Time) (string, error) {
	path := c.path(r)
	err := f.Chmod(0o400)
	if err == nil {
		err = f.Close()
	}
	if err == nil && !modified.IsZero() {
		err = os.Chtimes(f.Name(), time.Time{}, modified)
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return path, err
}

// miss notes that no server has it. That it cannot be noted costs a question more.
func (c cache) miss(r Request) {
	path := c.path(r)
	if os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	if f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		f.Close()
	}
}

// clean deletes files that nothing has read for long, once in an interval: the
// control file's time says when that was last done.
func (c cache) clean(now time.Time) {
	control := filepath.Join(c.folder, cleanFile)
	interval := c.setting(cleanFile, defaultClean)
	info, err := os.Stat(control)
	if err != nil || now.Sub(info.ModTime()) < interval || os.Chtimes(control, now, now) != nil {
		return
	}
	oldest := now.Add(-c.setting(maxUnusedFile, defaultMaxUsed))
	folders, _ := os.ReadDir(c.folder)
	for _, folder := range folders {
		if folder.IsDir() && isHex(folder.Name()) {
			cleanFolder(filepath.Join(c.folder, folder.Name()), oldest)
		}
	}
}

// cleanFolder deletes the files of one build that were last used before oldest.
func cleanFolder(dir string, oldest time.Time) {
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		if info, err := f.Info(); err == nil && isCached(f.Name()) && info.Mode().IsRegular() && lastUsed(info).Before(oldest) {
			_ = os.Remove(filepath.Join(dir, f.Name()))
		}
	}
	_ = os.Remove(dir) // fails where something is left
}

// isCached says whether a file of that name is one that clients put there, or a
// temporary one that a killed client left.
func isCached(name string) bool {
	for _, kind := range []string{"debuginfo", "executable", "source", "section"} {
		if strings.HasPrefix(name, kind) {
			return true
		}
	}
	return false
}

func isHex(s string) bool {
	return strings.Trim(s, "0123456789abcdef") == "" && s != ""
}
