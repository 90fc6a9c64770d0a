package unpacked

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// Least is the size from which a section is kept, in bytes.
	Least = 1 << 20
	// MaxCache bounds the cache, in bytes.
	MaxCache = 1 << 30
)

// settled is how old a file's last change must be: within a tick of the clock it could change and have the same times.
const settled = 2 * time.Second

// Cache is a folder of decompressed sections.
type Cache struct{ dir string }

// User is the user's cache, and nil where it cannot be used.
func User() *Cache {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil
	}
	if _, err := os.Stat(cache); err != nil { // clew does not make it
		return nil
	}
	return In(filepath.Join(cache, "clew", "sections"))
}

// In is a cache in a folder, which is made if its parents are the user's.
func In(dir string) *Cache {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil
	}
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !own(info) {
		return nil
	}
	return &Cache{dir}
}

// Section returns a section of a file, to be read at any place. open returns it decompressed, size is its size then, in bytes.
// It is nil where the section is too small for the cache, or too large, and where the file cannot be told from others.
func (c *Cache) Section(file fs.FileInfo, name string, size uint64, open func() (io.Reader, error)) io.ReaderAt {
	if c == nil || file == nil || size < Least || size > MaxCache/2 {
		return nil
	}
	state := stateOf(file)
	if state == "" {
		return nil
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "1 %s %q %d", state, name, size))
	path := filepath.Join(c.dir, hex.EncodeToString(sum[:]))
	if kept := openKept(path, size); kept != nil {
		return &section{cache: c, path: path, size: size, open: open, kept: kept}
	}
	return &section{cache: c, path: path, size: size, open: open}
}

// create makes a file that takes a section, and room for it. The file is locked until it is closed.
func (c *Cache) create(size uint64) (*os.File, error) {
	c.makeRoom(size)
	file, err := os.CreateTemp(c.dir, partial+"*")
	if err != nil {
		return nil, err
	}
	if err := lock(file); err != nil {
		_ = file.Close() // nothing was written
		return nil, err
	}
	return file, nil
}

// partial is how the name of a file begins that is being written.
const partial = "partial-"

// abandoned says whether the process that wrote a file has ended.
func abandoned(path string) bool {
	file, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	return lock(file) == nil
}

func lock(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// makeRoom removes what was not used for longest, and what was never finished.
func (c *Cache) makeRoom(size uint64) {
	type entry struct {
		name string
		used time.Time
		size int64
	}
	var all []entry
	total := int64(size)
	list, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	for _, e := range list {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if path := filepath.Join(c.dir, e.Name()); strings.HasPrefix(e.Name(), partial) && abandoned(path) {
			_ = os.Remove(path)
			continue
		}
		all, total = append(all, entry{e.Name(), info.ModTime(), info.Size()}), total+info.Size()
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Compare(a.used.UnixNano(), b.used.UnixNano()) })
	for ; total > MaxCache && len(all) > 0; all = all[1:] {
		if os.Remove(filepath.Join(c.dir, all[0].name)) == nil {
			total -= all[0].size
		}
	}
}
