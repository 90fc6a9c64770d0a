//go:build !linux

package interpose

import "errors"

// runAlone is for the processes of Linux.
func runAlone(func(func()), int, int) error { return errors.ErrUnsupported }
