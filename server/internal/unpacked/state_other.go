//go:build !linux

package unpacked

import "io/fs"

// stateOf is not known here: nothing is kept.
func stateOf(fs.FileInfo) string { return "" }

func own(fs.FileInfo) bool { return false }
