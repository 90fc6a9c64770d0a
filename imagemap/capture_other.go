//go:build !linux

package imagemap

import (
	"errors"
	"fmt"
	"io"
)

// Capture works on Linux only; here it fails with an error that wraps
// errors.ErrUnsupported.
func Capture(pid int, _ io.ReaderAt) (*ImageMap, error) {
	return nil, fmt.Errorf("imagemap: process %d: capture without /proc: %w", pid, errors.ErrUnsupported)
}
