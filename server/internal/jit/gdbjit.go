package jit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// DescriptorSymbol is the name of the variable that [ReadDescriptor] reads.
const DescriptorSymbol = "__jit_debug_descriptor"

// Layout says how a process's memory is laid out.
type Layout struct {
	Order    binary.ByteOrder
	WordSize int // bytes of a pointer: 4 or 8
	// Packed says that a 64-bit number may lie at any multiple of 4, as in the System
	// V ABI for i386. Pointers of 8 bytes need it not.
	Packed bool
}

// Registered is an ELF file in memory that a code generator has registered.
type Registered struct{ Addr, Size uint64 }

// Bounds on the list.
const (
	maxRegistered = 1 << 16
	maxFileSize   = 64 << 20
)

var errDescriptor = errors.New("JIT descriptor")

// ReadDescriptor lists what is registered, by the variable __jit_debug_descriptor at
// addr: version, action (u32), then pointers to the relevant and the first entry.
// An entry has pointers to the next, the previous and the file, and the file's
// size (u64). An entry that is being removed does not count. With an error, what was
// found before comes too: the process may have been changing the list.
func ReadDescriptor(memory io.ReaderAt, addr uint64, l Layout) ([]Registered, error) {
	at, removed, err := l.first(memory, addr)
	if err != nil {
		return nil, fmt.Errorf("%w at %#x: %w", errDescriptor, addr, err)
	}
	var out []Registered
	entry := make([]byte, l.sizeOffset()+8)
	for seen := make(map[uint64]bool); at != 0; at = l.pointer(entry) {
		if seen[at] {
			return out, fmt.Errorf("%w: the list comes back to %#x", errDescriptor, at)
		}
		if len(seen) == maxRegistered {
			return out, fmt.Errorf("%w: more than %d entries", errDescriptor, maxRegistered)
		}
		seen[at] = true
		if err := readAt(memory, at, entry); err != nil {
			return out, fmt.Errorf("%w: entry at %#x: %w", errDescriptor, at, err)
		}
		r := Registered{l.pointer(entry[2*l.WordSize:]), l.Order.Uint64(entry[l.sizeOffset():])}
		if r.valid() && at != removed {
			out = append(out, r)
		}
	}
	return out, nil
}

// unregister is the action that removes the relevant entry (JIT_UNREGISTER_FN).
const unregister = 2

// first returns the address of the first entry, and of one that is being removed; 0 for
// none.
func (l Layout) first(memory io.ReaderAt, addr uint64) (first, removed uint64, err error) {
	head := make([]byte, 8+2*l.WordSize)
	if err := readAt(memory, addr, head); err != nil {
		return 0, 0, err
	}
	version := l.Order.Uint32(head)
	if version != 1 && !allZero(head) { // zeros: not initialised yet
		return 0, 0, fmt.Errorf("version %d", version)
	}
	if l.Order.Uint32(head[4:]) == unregister {
		removed = l.pointer(head[8:])
	}
	return l.pointer(head[8+l.WordSize:]), removed, nil
}

// sizeOffset is where an entry has the file's size.
func (l Layout) sizeOffset() int {
	if l.WordSize == 4 && !l.Packed {
		return 16
	}
	return 3 * l.WordSize
}

func (r Registered) valid() bool {
	return r.Addr != 0 && r.Size != 0 && r.Size <= maxFileSize && r.Addr+r.Size > r.Addr
}

func (l Layout) pointer(b []byte) uint64 {
	if l.WordSize == 4 {
		return uint64(l.Order.Uint32(b))
	}
	return l.Order.Uint64(b)
}

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// readAt reads all of buf from memory.
func readAt(memory io.ReaderAt, addr uint64, buf []byte) error {
	if addr > math.MaxInt64 {
		return fmt.Errorf("address %#x is out of reach", addr)
	}
	n, err := memory.ReadAt(buf, int64(addr))
	if n == len(buf) {
		return nil
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return err
}
