package targets

import (
	"errors"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/unwind"
)

// ErrShort says that less memory was read or written than was asked for.
var ErrShort = errors.New("short read")

// Memory is memory as Delve reads it, for clew: breakpoints are in it.
type Memory struct {
	Delve proc.MemoryReader
	PID   int // of a process on this machine, else 0
}

// ReadPage implements [blocks.Pager]. What the process itself may not read, Delve reads word by
// word, a system call each: half a millisecond for a page. Its walk from C to Go reads such memory,
// where the runtime has reserved some for its heap.
func (m Memory) ReadPage(addr uint64, p []byte) error {
	if m.PID == 0 {
		return m.ReadMemory(addr, p)
	}
	return procfs.Memory(m.PID).ReadMemory(addr, p)
}

// ReadMemory implements [unwind.Memory].
func (m Memory) ReadMemory(addr uint64, p []byte) error {
	n, err := m.Delve.ReadMemory(p, addr)
	if err == nil && n != len(p) {
		err = ErrShort // on Linux a read may be short without an error
	}
	if err != nil {
		return &unwind.MemoryError{Addr: addr, Size: len(p), Err: err}
	}
	return nil
}

// PutOriginal puts the original bytes back where software breakpoints are in memory that was read.
func PutOriginal(t *proc.Target, addr uint64, p []byte) {
	for _, bp := range t.Breakpoints().M {
		for i, b := range bp.OriginalData {
			at := bp.Addr + uint64(i)
			if bp.WatchType == 0 && at >= addr && at-addr < uint64(len(p)) {
				p[at-addr] = b
			}
		}
	}
}

// Original is a target's memory as the program has it: without breakpoints.
type Original struct{ Target *proc.Target }

// ReadMemory implements [unwind.Memory].
func (o Original) ReadMemory(addr uint64, p []byte) error {
	n, err := o.Target.Memory().ReadMemory(p, addr)
	if err == nil && n < len(p) {
		err = ErrShort
	}
	if err == nil {
		PutOriginal(o.Target, addr, p)
	}
	return err
}
