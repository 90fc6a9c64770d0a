package procfs

import (
	"golang.org/x/sys/unix"

	"github.com/clewdbg/clew/unwind"
)

// Memory is the memory of the process with that ID, as far as the process itself may read it:
// what is mapped without that right is an error. A read takes one system call.
type Memory int

// ReadMemory implements [unwind.Memory].
func (pid Memory) ReadMemory(addr uint64, p []byte) error {
	if uint64(uintptr(addr)) != addr {
		return &unwind.MemoryError{Addr: addr, Size: len(p), Err: unix.EFAULT}
	}
	for at := 0; at < len(p); {
		n, err := ReadPieces(int(pid), []unix.RemoteIovec{{Base: uintptr(addr) + uintptr(at), Len: len(p) - at}}, p[at:])
		if n <= 0 {
			return &unwind.MemoryError{Addr: addr, Size: len(p), Err: err}
		}
		at += n
	}
	return nil
}

// ReadPieces reads ranges of a process's memory, at most 1,024, one after another into p. It returns how many
// bytes could be read before the first that could not.
func ReadPieces(pid int, pieces []unix.RemoteIovec, p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	local := unix.Iovec{Base: &p[0]}
	local.SetLen(len(p))
	return unix.ProcessVMReadv(pid, []unix.Iovec{local}, pieces, 0)
}
