package debuginfod

import (
	"io/fs"
	"syscall"
	"time"
)

// lastUsed says when a file was last read or written.
func lastUsed(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Atimespec.Unix())
	}
	return info.ModTime()
}
