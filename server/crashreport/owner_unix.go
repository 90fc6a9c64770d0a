//go:build unix

package crashreport

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ownFolder is an error where others can write to a folder, or it is another user's.
func ownFolder(dir string, info fs.FileInfo) error {
	const othersWrite = 0o002
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case ok && st.Uid != uint32(os.Geteuid()) && st.Uid != 0:
		return fmt.Errorf("the folder for reports %s is another user's (%d)", dir, st.Uid)
	case info.Mode().Perm()&othersWrite != 0 && info.Mode()&fs.ModeSticky == 0:
		return fmt.Errorf("everybody can write to the folder for reports %s: take that from them (chmod o-w)", dir)
	}
	return nil
}
