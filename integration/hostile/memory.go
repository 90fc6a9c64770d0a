package main

import (
	"encoding/binary"

	"github.com/clewdbg/clew/unwind"
)

// pageSize is that of the pages that are kept.
const pageSize = 4096

// pages is memory of a process that stands still, read once.
type pages struct {
	base unwind.Memory
	kept map[uint64][]byte // by address; nil where it cannot be read
}

func newPages(base unwind.Memory) *pages { return &pages{base: base, kept: make(map[uint64][]byte)} }

func (p *pages) page(addr uint64) []byte {
	page, ok := p.kept[addr]
	if !ok {
		page = make([]byte, pageSize)
		if p.base.ReadMemory(addr, page) != nil {
			page = nil
		}
		p.kept[addr] = page
	}
	return page
}

// ReadMemory implements [unwind.Memory].
func (p *pages) ReadMemory(addr uint64, b []byte) error {
	for n := 0; n < len(b); {
		at := addr + uint64(n)
		page := p.page(at &^ (pageSize - 1))
		if page == nil {
			return &unwind.MemoryError{Addr: addr, Size: len(b)}
		}
		n += copy(b[n:], page[at%pageSize:])
	}
	return nil
}

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
