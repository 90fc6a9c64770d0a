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

// pageSize is how much is read and kept where a word is asked for, and maxPages how many pages are kept.
const (
	pageSize = 4 << 10
	maxPages = 16 << 10
)

// memory is a process's memory at the stop. It is safe for concurrent use.
type memory struct {
	live  unwind.Memory
	fixed *blocks.Blocks // over live: what the process cannot write to

	mu              sync.Mutex
	phase           phase
	writable        unwind.RangeSet
	copies          []unwind.Window   // sorted by address, once the copying has ended
	last            unwind.Window     // that was used last
	pages           map[uint64][]byte // nil for one that cannot be read
	settled, sorted bool              // no more copies come; they are sorted
	stops           int               // so many times the process was stopped
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
		return m.alone(func() error { return m.live.ReadMemory(addr, p) })
	}
	if m.writable.Contains(addr) || len(p) > 0 && m.writable.Contains(addr+uint64(len(p)-1)) {
		return &unwind.MemoryError{Addr: addr, Size: len(p), Err: errNotCopied}
	}
	return m.fixed.ReadMemory(addr, p)
}

// alone reads the process, without the lock: that may take any time. What is read after the stop does not count.
func (m *memory) alone(read func() error) error {
	stop := m.stops
	m.mu.Unlock()
	err := read()
	m.mu.Lock()
	if err == nil && (m.phase != during || m.stops != stop) {
		return errNotCopied
	}
	return err
}

func holds(w unwind.Window, addr uint64, n int) bool {
	return addr >= w.Addr && addr-w.Addr <= uint64(len(w.Data)) && uint64(n) <= uint64(len(w.Data))-(addr-w.Addr)
}

// find makes the copy that holds a range the last one.
func (m *memory) find(addr uint64, n int) bool {
	if !m.settled {
		return false
	}
	m.sort()
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
		if !ok && m.phase == during && len(m.pages) < maxPages {
			page = make([]byte, pageSize)
			switch err := m.alone(func() error { return m.live.ReadMemory(start, page) }); {
			case errors.Is(err, errNotCopied):
				return false
			case err != nil:
				page = nil // it is not asked for again
			}
			m.pages[start] = page
		}
		if page == nil {
			return false
		}
		n := copy(p, page[addr-start:])
		addr, p = addr+uint64(n), p[n:]
	}
	return true
}

// add adds copies, as long as the process stands still.
func (m *memory) add(copies []unwind.Window) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.phase == during && !m.settled {
		m.copies = append(m.copies, copies...)
	}
}

// settle says that no more copies come.
func (m *memory) settle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settled = true
}

// sort sorts the copies where that is not done: not while the process stands still, unless it is held.
func (m *memory) sort() {
	if m.sorted {
		return
	}
	m.sorted = true
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
		m.copies, m.last, m.settled, m.sorted = nil, unwind.Window{}, false, false
		m.stops++
		clear(m.pages)
	}
}

// forget drops all that was kept: what is read next is of the process as it is.
func (m *memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.phase, m.copies, m.last, m.settled, m.sorted = before, nil, unwind.Window{}, false, false
	m.fixed = blocks.Over(m.live)
	clear(m.pages)
}

// merged sorts ranges and joins those that overlap or lie no more than gap apart. It uses the memory of into.
func merged(into, ranges []unwind.Range, gap uint64) []unwind.Range {
	out := append(into[:0], ranges...)
	slices.SortFunc(out, func(a, b unwind.Range) int {
		if a.Start < b.Start {
			return -1
		}
		return 1
	})
	n := 0
	for _, r := range out {
		if n > 0 && r.Start <= out[n-1].End+gap {
			out[n-1].End = max(out[n-1].End, r.End)
			continue
		}
		out[n] = r
		n++
	}
	return out[:n]
}
