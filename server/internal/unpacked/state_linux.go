package unpacked

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// stateOf tells a file and its contents from others, "" where that is not certain.
func stateOf(info fs.FileInfo) string {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok || time.Since(time.Unix(s.Ctim.Unix())) < settled {
		return ""
	}
	return fmt.Sprint(s.Dev, s.Ino, s.Size, s.Mtim, s.Ctim)
}

// own says whether a file is the user's.
func own(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}
