//go:build !linux

package testneed

import (
	"fmt"
	"runtime"
)

func tryPtrace() error {
	return fmt.Errorf("tests trace processes on linux only; this is %s", runtime.GOOS)
}
