package interpose

import (
	"encoding/binary"
	"sort"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/internals"
)

// Delve believes how many goroutines the runtime says that there are, and goes over all of them: to list them, or to find one by
// its number. Example: a damaged core file that claims 2^60 of them. Who meets it: whoever opens a core file of a program that
// has overwritten its own memory, which is why there is a core file. goroutineList stands before a target's memory, and
// has Delve read a number that the list has room for. Tests: TestGoroutineList, integration/scenarios after-end.
type goroutineList struct {
	process   proc.Process
	count, at uint64 // where the program has their number, and where their list
}

const (
	fewGoroutines = 4096 // that are believed without a look
	// wrongGoroutines are those that Delve is shown of what is not in the list: it says of each that it cannot be read.
	wrongGoroutines = 1000
)

// ReadMemory reads the process's memory.
func (l *goroutineList) ReadMemory(to []byte, addr uint64) (int, error) {
	n, err := l.process.Memory().ReadMemory(to, addr)
	if addr == l.count && n == 8 && err == nil {
		if claimed := binary.LittleEndian.Uint64(to); claimed > fewGoroutines {
			binary.LittleEndian.PutUint64(to, l.bound(claimed))
		}
	}
	return n, err
}

// WriteMemory writes the process's memory.
func (l *goroutineList) WriteMemory(addr uint64, data []byte) (int, error) {
	return l.process.Memory().WriteMemory(addr, data)
}

// bound returns the number that was claimed, or a lower one where the list has no such entry: the entries before the first that
// points nowhere, and some behind it.
func (l *goroutineList) bound(claimed uint64) uint64 {
	list, ok := l.word(l.at)
	if !ok || l.entry(list, claimed-1) {
		return claimed
	}
	room := uint64(fewGoroutines)
	for room < claimed && l.entry(list, room-1) {
		room *= 2 // no list is so long that this overflows
	}
	room = min(room, claimed)
	first := sort.Search(int(room), func(i int) bool { return !l.entry(list, uint64(i)) }) //nolint:gosec // at most 2^60: the list would be all memory
	return min(claimed, uint64(first)+wrongGoroutines)                                     //nolint:gosec // not negative
}

// entry says whether the list has an entry: a pointer to memory.
func (l *goroutineList) entry(list, i uint64) bool {
	if i >= (1<<56)/8 {
		return false
	}
	g, ok := l.word(list + 8*i)
	if ok && g != 0 {
		_, ok = l.word(g)
	}
	return ok && g != 0
}

func (l *goroutineList) word(addr uint64) (uint64, bool) {
	var b [8]byte
	n, err := l.process.Memory().ReadMemory(b[:], addr)
	return binary.LittleEndian.Uint64(b[:]), err == nil && n == len(b)
}

// bounded is a process with a list of goroutines that ends.
type bounded struct {
	proc.Process
	list goroutineList
}

// Memory returns the process's memory.
func (b *bounded) Memory() proc.MemoryReadWriter { return &b.list }

// boundGoroutines stands before the memory of a target.
func boundGoroutines(t *proc.Target) error {
	if _, done := t.Process.(*bounded); done {
		return nil
	}
	count, at, err := internals.GoroutineList(t)
	if err == nil {
		t.Process = &bounded{t.Process, goroutineList{t.Process, count, at}}
	}
	return err
}
