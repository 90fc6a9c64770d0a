package elffile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ErrNotRegular is what a path leads to that is no regular file.
var ErrNotRegular = errors.New("not a regular file")

// OpenRegular opens a regular file, at once.
func OpenRegular(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: path, Err: fmt.Errorf("%w", ErrNotRegular)}
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, nil, err
	}
	return f, info, nil
}

// Stored is how many bytes of a file the disk holds: fewer than its size where the file
// has holes.
func Stored(info fs.FileInfo) int64 {
	const block = 512 // stat(2), st_blocks
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return min(info.Size(), st.Blocks*block)
	}
	return info.Size()
}

// CheckWhole says whether a file may be read from its start to its end.
func CheckWhole(info fs.FileInfo) error {
	if may := free(info.Size(), Stored(info)); uint64(info.Size()) > max(may, limits().Least) {
		return fmt.Errorf("a file of %s, of which the disk holds %s", amount(uint64(info.Size())), amount(uint64(Stored(info))))
	}
	return nil
}
