package memory

import (
	"encoding/binary"

	"github.com/clewdbg/clew/unwind"
)

// pageSize is that of the pages that may be missing.
const pageSize = 4096

// overlay is memory with some words and pages replaced.
type overlay struct {
	base    unwind.Memory
	words   map[uint64]uint64 // by aligned address
	missing []unwind.Range    // cannot be read
}

// ReadMemory implements [unwind.Memory].
func (o *overlay) ReadMemory(addr uint64, b []byte) error {
	end := addr + uint64(len(b))
	for _, r := range o.missing {
		if addr < r.End && end > r.Start {
			return &unwind.MemoryError{Addr: addr, Size: len(b)}
		}
	}
	if err := o.base.ReadMemory(addr, b); err != nil {
		return err
	}
	var w [8]byte
	if uint64(len(b))/8 > uint64(len(o.words)) {
		for at, v := range o.words {
			if at+8 > addr && at < end {
				binary.LittleEndian.PutUint64(w[:], v)
				put(b, addr, at, w)
			}
		}
		return nil
	}
	for at := addr &^ 7; at < end; at += 8 {
		if v, ok := o.words[at]; ok {
			binary.LittleEndian.PutUint64(w[:], v)
			put(b, addr, at, w)
		}
	}
	return nil
}

// put writes a word at an address over what b, at addr, has of it.
func put(b []byte, addr, at uint64, w [8]byte) {
	for i := range w {
		if k := at + uint64(i) - addr; k < uint64(len(b)) {
			b[k] = w[i]
		}
	}
}
