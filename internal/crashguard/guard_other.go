//go:build !linux

package crashguard

import (
	"errors"
	"fmt"
	"os"
)

// ErrLinux says that reports need Linux.
var ErrLinux = errors.New("crash reports need Linux")

// Main says that there are no reports here.
func Main([]string) (code int, work bool) {
	fmt.Fprintf(os.Stderr, "clew: %s: %v\n", Command, ErrLinux)
	return 1, false
}

// WorkArgs says the same.
func WorkArgs([]string) (Options, error) { return Options{}, ErrLinux }
