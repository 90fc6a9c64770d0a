package inprocess

import "github.com/clewdbg/clew/unwind"

// pageSize is that of the pages that are kept.
const pageSize = 4096

// Pages is memory of a process that stands still, read once.
type Pages struct {
	base unwind.Memory
	kept map[uint64][]byte // by address; nil where it cannot be read
}

// NewPages returns memory that nothing was read of yet.
func NewPages(base unwind.Memory) *Pages { return &Pages{base: base, kept: make(map[uint64][]byte)} }

func (p *Pages) page(addr uint64) []byte {
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
func (p *Pages) ReadMemory(addr uint64, b []byte) error {
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
