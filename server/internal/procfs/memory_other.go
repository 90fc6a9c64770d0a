//go:build !linux

package procfs

import (
	"errors"

	"github.com/clewdbg/clew/unwind"
)

// Memory is a process's memory on Linux; elsewhere nothing can be read.
type Memory int

// ReadMemory implements [unwind.Memory].
func (Memory) ReadMemory(addr uint64, p []byte) error {
	return &unwind.MemoryError{Addr: addr, Size: len(p), Err: errors.ErrUnsupported}
}

// Refused says nothing elsewhere.
func Refused(int, uint64) error { return nil }
