package delve

import (
	"fmt"
	"io/fs"
	"syscall"
	"time"
)

// fileState tells a file and its contents from others: each write changes st_ctime, which programs cannot set (stat(2)). changed is when
// that was.
func fileState(info fs.FileInfo) (state string, changed time.Time) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", time.Time{}
	}
	changed = time.Unix(s.Ctim.Unix())
	return fmt.Sprint(checks, s.Dev, s.Ino, s.Size, s.Mtim, s.Ctim), changed
}
