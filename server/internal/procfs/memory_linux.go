package procfs

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/clewdbg/clew/unwind"
)

// A RefusedError says that the kernel refuses process_vm_readv, by which memory is read.
type RefusedError struct{ Err error }

// Error says what may have refused it.
func (e *RefusedError) Error() string {
	return "process_vm_readv is refused (" + e.Err.Error() + "): a seccomp profile forbids it, or rights lack (CAP_SYS_PTRACE, the same user); allow it"
}

// Unwrap returns the kernel's error.
func (e *RefusedError) Unwrap() error { return e.Err }

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
	n, err := unix.ProcessVMReadv(pid, []unix.Iovec{local}, pieces, 0)
	if err == unix.EPERM || err == unix.ENOSYS {
		err = &RefusedError{err}
	}
	return n, err
}

// Refused is a [RefusedError] if the kernel refuses to read memory at an address that can be read.
func Refused(pid int, addr uint64) error {
	var refused *RefusedError
	if err := Memory(pid).ReadMemory(addr, make([]byte, 1)); errors.As(err, &refused) {
		return refused
	}
	return nil
}
