package delve

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/clewdbg/clew/internal/elffile"
)

// checks is the number of the set of checks: a file that has passed another one is checked again. It changes with each
// check that is added ([checkSections]).
const checks = 7

// passed are the files that have passed the checks, by their state: it takes a tenth of a second for the C library's debug
// file. In the user's cache an empty file stands for each.
var passed sync.Map

// settled is how old a state must be to be kept: within a tick of the clock a file could change and have the same times.
var settled = 2 * time.Second

// maxPassed bounds the files in the cache.
const maxPassed = 4096

// checkOnce is [checkSections] for a file that may have passed it before.
func checkOnce(f *elffile.File) error {
	name := stateName(f.Info)
	if name == "" || f.LeftOut != nil { // what is left out depends on the limits
		return checkSections(f)
	}
	if _, ok := passed.Load(name); ok {
		return nil
	}
	cached := passedFile(name)
	if _, err := os.Lstat(cached); cached != "" && err == nil {
		passed.Store(name, nil)
		return nil
	}
	if err := checkSections(f); err != nil {
		return err
	}
	if _, changed := fileState(f.Info); time.Since(changed) > settled {
		passed.Store(name, nil)
		keepPassed(cached)
	}
	return nil
}

// stateName is the name of a file's state, "" if that is unknown.
func stateName(info fs.FileInfo) string {
	state, _ := fileState(info)
	if state == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(state))
	return hex.EncodeToString(sum[:])
}

// passedFile is the file in the user's cache that stands for a state, "" if there is no cache: clew does not make one.
func passedFile(name string) string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	if _, err := os.Stat(cache); err != nil {
		return ""
	}
	return filepath.Join(cache, "clew", "checked", name)
}

// keepPassed notes a state. Where that fails the file is checked again the next time.
func keepPassed(path string) {
	if path == "" {
		return
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return
	}
	if known, err := os.ReadDir(dir); err != nil || len(known) >= maxPassed {
		_ = os.RemoveAll(dir) // to begin anew
		return
	}
	if file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		_ = file.Close() // it is empty
	}
}
