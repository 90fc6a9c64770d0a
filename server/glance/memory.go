package glance

import (
	"errors"
	"slices"
	"sort"
	"sync"

	"github.com/clewdbg/clew/server/internal/blocks"
	"github.com/clewdbg/clew/unwind"
)

// errNotCopied: memory that the process may have written to since.
var errNotCopied = errors.New("was not copied while the process stood still")

// phase is the time of a read.
type phase uint8

const (
	before phase = iota // the process runs: what is read is not kept
	during              // it stands still: what is read is kept
	after               // it runs again: only what was kept counts, and what it cannot write to
)

// pageSize is how much is read and kept where a word is asked for.
const pageSize = 4 << 10

// memory is a process's memory at the stop. It is safe for concurrent use.
type memory struct {
	live  unwind.Memory
	fixed *blocks.Blocks // over live: what the process cannot write to

	mu       sync.Mutex
	phase    phase
	writable unwind.RangeSet
	copies   []unwind.Window // sorted by address
	last     unwind.Window   // that was used last
	pages    map[uint64][]byte
}

func newMemory(live unwind.Memory) *memory {
	return &memory{live: live, fixed: blocks.Over(live), pages: make(map[uint64][]byte)}
}

// ReadMemory implements [unwind.Memory].
func (m *memory) ReadMemory(addr uint64, p []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.phase == before {
		return m.live.ReadMemory(addr, p)
	}
	if holds(m.last, addr, len(p)) || m.find(addr, len(p)) {
		copy(p, m.last.Data[addr-m.last.Addr:])
		return nil
	}
	if m.fromPages(addr, p) {
		return nil
	}
	if m.phase == during {
		return m.live.ReadMemory(addr, p)
	}
	if m.writable.Contains(addr) || len(p) > 0 && m.writable.Contains(addr+uint64(len(p)-1)) {
		return &unwind.MemoryError{Addr: addr, Size: len(p), Err: errNotCopied}
	}
	return m.fixed.ReadMemory(addr, p)
}

func holds(w unwind.Window, addr uint64, n int) bool {
	return addr >= w.Addr && addr-w.Addr <= uint64(len(w.Data)) && uint64(n) <= uint64(len(w.Data))-(addr-w.Addr)
}

// find makes the copy that holds a range the last one.
func (m *memory) find(addr uint64, n int) bool {
	i := sort.Search(len(m.copies), func(i int) bool { return m.copies[i].Addr > addr })
	if i == 0 || !holds(m.copies[i-1], addr, n) {
		return false
	}
	m.last = m.copies[i-1]
	return true
}

// fromPages reads from whole pages, which are read and kept while the process stands
// still.
func (m *memory) fromPages(addr uint64, p []byte) bool {
	for len(p) > 0 {
		start := addr &^ (pageSize - 1)
		page, ok := m.pages[start]
		if !ok && m.phase == during {
			page = make([]byte, pageSize)
			if m.live.ReadMemory(start, page) != nil {
				return false
			}
			m.pages[start], ok = page, true
		}
		if !ok {
			return false
		}
		n := copy(p, page[addr-start:])
		addr, p = addr+uint64(n), p[n:]
	}
	return true
}

// add adds copies.
func (m *memory) add(copies []unwind.Window) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.copies = append(m.copies, copies...)
	slices.SortFunc(m.copies, func(a, b unwind.Window) int {
		switch {
		case a.Addr < b.Addr:
			return -1
		case a.Addr > b.Addr:
			return 1
		}
		return len(a.Data) - len(b.Data) // the longest of those that begin alike comes last, where it is found
	})
}

func (m *memory) enter(p phase, writable unwind.RangeSet) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.phase, m.writable = p, writable
	if p == during {
		m.copies, m.last = nil, unwind.Window{}
		clear(m.pages)
	}
}

// forget drops all that was kept: what is read next is of the process as it is.
func (m *memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.phase, m.copies, m.last = before, nil, unwind.Window{}
	m.fixed = blocks.Over(m.live)
	clear(m.pages)
}

// merged sorts ranges and joins those that overlap or lie no more than gap apart.
func merged(ranges []unwind.Range, gap uint64) []unwind.Range {
	sorted := slices.Clone(ranges)
	slices.SortFunc(sorted, func(a, b unwind.Range) int {
		if a.Start < b.Start {
			return -1
		}
		return 1
	})
	var out []unwind.Range
	for _, r := range sorted {
		if n := len(out); n > 0 && r.Start <= out[n-1].End+gap {
			out[n-1].End = max(out[n-1].End, r.End)
			continue
		}
		out = append(out, r)
	}
	return out
}
