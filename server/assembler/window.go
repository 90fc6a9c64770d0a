package assembler

import "github.com/clewdbg/clew/unwind"

// Sizes of the stack windows that are sent with a walk, in bytes. They start
// small, because most stacks are, and double while a run asks for more; a
// request stays far below the transport's limits.
const (
	firstWindow = 16 << 10
	lastWindow  = 256 << 10
	pageSize    = 4096
	// maxNeed bounds what a strategy may ask for at once off the stack, in bytes,
	// and maxExtra how often it may ask for one step.
	maxNeed  = 64 << 10
	maxExtra = 64
)

// readUpTo reads memory from addr to end, at most size bytes, and gives what
// can be read without a gap. Delve's reads are all or nothing, so a failed read
// is repeated up to the first page that cannot be read.
func readUpTo(m unwind.Memory, addr, end uint64, size int) []byte {
	if end > addr && end-addr < uint64(size) {
		size = int(end - addr)
	}
	if addr+uint64(size) < addr { // at the top of the address space
		size = int(-addr)
	}
	if size <= 0 {
		return nil
	}
	buf := make([]byte, size)
	if m.ReadMemory(addr, buf) == nil {
		return buf
	}
	n := 0
	for n < size {
		next := min(size, n+int(pageSize-(addr+uint64(n))%pageSize))
		if m.ReadMemory(addr+uint64(n), buf[n:next]) != nil {
			break
		}
		n = next
	}
	return buf[:n]
}
