package blocks

import (
	"sync"

	"github.com/clewdbg/clew/unwind"
)

// blockSize is how much is read at once where a word is asked for, in bytes, and
// maxBlocks how many blocks are kept. Reading from the process takes a system
// call, whose cost hardly grows up to some pages; stacks are read word by word.
const (
	blockSize = 4 << 10 // a page: all of it can be read, or nothing
	maxBlocks = 4096
)

// Blocks is memory that keeps the blocks that were read. It is valid
// for one stop. It is safe for concurrent use.
type Blocks struct {
	memory unwind.Memory
	read   func(addr uint64, p []byte) error // a block

	mu   sync.Mutex
	held map[uint64][]byte // by address
	last unwind.Window     // the block that was used last
}

// Pager is memory of which a page can be read at a known, small cost, or not at all. Of
// other memory a page is read as any range is.
type Pager interface {
	ReadPage(addr uint64, p []byte) error
}

// Over returns memory that caches the blocks that are read of another.
func Over(m unwind.Memory) *Blocks {
	b := &Blocks{memory: m, read: m.ReadMemory}
	if p, ok := m.(Pager); ok {
		b.read = p.ReadPage
	}
	return b
}

// ReadMemory implements [unwind.Memory].
func (b *Blocks) ReadMemory(addr uint64, p []byte) error {
	start := addr &^ (blockSize - 1)
	if uint64(len(p)) > blockSize-(addr-start) { // more than a block has
		return b.memory.ReadMemory(addr, p)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last.Data == nil || b.last.Addr != start {
		data, ok := b.held[start]
		if !ok {
			data = make([]byte, blockSize)
			if b.read(start, data) != nil {
				return b.memory.ReadMemory(addr, p) // it says what cannot be read
			}
			if b.held == nil || len(b.held) >= maxBlocks {
				b.held = make(map[uint64][]byte)
			}
			b.held[start] = data
		}
		b.last = unwind.Window{Addr: start, Data: data}
	}
	copy(p, b.last.Data[addr-start:])
	return nil
}
