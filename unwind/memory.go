package unwind

import (
	"encoding/binary"
	"fmt"
)

// Memory reads a target's memory. ReadMemory fills all of p or returns an error
// (a [*MemoryError]); it never returns zeros for unreadable memory.
type Memory interface {
	ReadMemory(addr uint64, p []byte) error
}

// MemoryError is a failed read of memory, with its address.
type MemoryError struct {
	Addr uint64
	Size int
	Err  error // the cause, may be nil
}

// Error names the range that could not be read.
func (e *MemoryError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("cannot read %d bytes of memory at %#x: %v", e.Size, e.Addr, e.Err)
	}
	return fmt.Sprintf("cannot read %d bytes of memory at %#x", e.Size, e.Addr)
}

// Unwrap returns the cause.
func (e *MemoryError) Unwrap() error { return e.Err }

// Window is a piece of memory that was read at one stop.
type Window struct {
	Addr uint64
	Data []byte
}

// Contains reports whether n bytes from addr lie within the window.
func (w Window) Contains(addr uint64, n int) bool {
	if n < 0 || addr < w.Addr {
		return false
	}
	off := addr - w.Addr
	return off <= uint64(len(w.Data)) && uint64(n) <= uint64(len(w.Data))-off
}

// Windows is memory made of windows. A read fails unless one window holds all
// of the range.
type Windows []Window

// ReadMemory implements [Memory].
func (ws Windows) ReadMemory(addr uint64, p []byte) error {
	for _, w := range ws {
		if w.Contains(addr, len(p)) {
			copy(p, w.Data[addr-w.Addr:])
			return nil
		}
	}
	return &MemoryError{Addr: addr, Size: len(p)}
}

// Word reads one 8-byte word without allocating; ok is false where no window
// holds it.
func (ws Windows) Word(addr uint64, order binary.ByteOrder) (v uint64, ok bool) {
	for i := range ws {
		if ws[i].Contains(addr, 8) {
			off := addr - ws[i].Addr
			return order.Uint64(ws[i].Data[off : off+8]), true
		}
	}
	return 0, false
}

// ReadWord reads one word of the architecture's size.
func ReadWord(m Memory, addr uint64, size int, order binary.ByteOrder) (uint64, error) {
	var buf [8]byte
	if err := m.ReadMemory(addr, buf[:size]); err != nil {
		return 0, err
	}
	if size == 4 {
		return uint64(order.Uint32(buf[:4])), nil
	}
	return order.Uint64(buf[:8]), nil
}

// ReaderAt reads memory at offsets that are addresses, for readers of files.
type ReaderAt struct{ Memory Memory }

// ReadAt implements [io.ReaderAt]: it reads all of p or nothing.
func (r ReaderAt) ReadAt(p []byte, off int64) (int, error) {
	if err := r.Memory.ReadMemory(uint64(off), p); err != nil {
		return 0, err
	}
	return len(p), nil
}
