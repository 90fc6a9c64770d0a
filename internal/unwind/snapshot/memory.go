package snapshot

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/clewdbg/clew/unwind"
)

// Memory is memory made of windows that may adjoin and overlap. Reads across
// windows that adjoin succeed; memory outside all windows is unreadable. It is
// immutable and safe for concurrent use.
type Memory struct {
	runs []unwind.Window // sorted; no two overlap or adjoin
}

var _ unwind.Memory = (*Memory)(nil)

// ConflictError is a pair of windows with different bytes at one address.
type ConflictError struct {
	Addr uint64
	// First and Second are the indexes of windows, and FirstByte and SecondByte
	// their bytes there.
	First, Second         int
	FirstByte, SecondByte byte
}

// Error names the windows, the address and the bytes.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("the byte at %#x is %#02x here and %#02x in memory[%d]: one of them is wrong",
		e.Addr, e.SecondByte, e.FirstByte, e.First)
}

// WrapError is a window beyond the end of the address space.
type WrapError struct {
	Window int // its index
	Addr   uint64
	Size   int
}

// Error names the window.
func (e *WrapError) Error() string {
	return fmt.Sprintf("%d bytes at %#x go beyond the end of the address space", e.Size, e.Addr)
}

// NewMemory sorts and joins windows, whose data must not change from then on.
// Windows may overlap if they have the same bytes there. The error is a
// [*ConflictError] or a [*WrapError].
func NewMemory(windows []unwind.Window) (*Memory, error) {
	order := make([]int, 0, len(windows))
	for i, w := range windows {
		if n := len(w.Data); n > 0 {
			if w.Addr > math.MaxUint64-uint64(n-1) {
				return nil, &WrapError{Window: i, Addr: w.Addr, Size: n}
			}
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(windows[a].Addr, windows[b].Addr) })
	m := &Memory{}
	owned := false // the last run's bytes are ours, not a window's
	for _, i := range order {
		w := windows[i]
		n := len(m.runs)
		if n == 0 || w.Addr-m.runs[n-1].Addr > uint64(len(m.runs[n-1].Data)) {
			m.runs, owned = append(m.runs, w), false
			continue
		}
		run := &m.runs[n-1]
		off := int(w.Addr - run.Addr)
		overlap := min(len(run.Data)-off, len(w.Data))
		if !bytes.Equal(run.Data[off:off+overlap], w.Data[:overlap]) {
			return nil, conflict(windows, order, i, run.Data[off:off+overlap])
		}
		if rest := w.Data[overlap:]; len(rest) > 0 {
			if !owned {
				run.Data, owned = slices.Clone(run.Data), true
			}
			run.Data = append(run.Data, rest...)
		}
	}
	return m, nil
}

// conflict names the windows that disagree: window i has other bytes than
// earlier windows have at the same addresses.
func conflict(windows []unwind.Window, order []int, i int, have []byte) error {
	w := windows[i]
	k := 0
	for have[k] == w.Data[k] {
		k++
	}
	e := &ConflictError{Addr: w.Addr + uint64(k), Second: i, FirstByte: have[k], SecondByte: w.Data[k]}
	for _, j := range order {
		if j != i && windows[j].Contains(e.Addr, 1) {
			e.First = j
			break
		}
	}
	// The error is that of the later window in the list.
	if e.First > e.Second {
		e.First, e.Second = e.Second, e.First
		e.FirstByte, e.SecondByte = e.SecondByte, e.FirstByte
	}
	return e
}

// Windows returns the memory as sorted windows that neither overlap nor adjoin.
// Their data must not be changed.
func (m *Memory) Windows() unwind.Windows { return unwind.Windows(m.runs) }

// find returns the window that addr lies in.
func (m *Memory) find(addr uint64) (unwind.Window, bool) {
	i, found := slices.BinarySearchFunc(m.runs, addr, func(w unwind.Window, addr uint64) int { return cmp.Compare(w.Addr, addr) })
	if !found {
		i--
	}
	if i < 0 || !m.runs[i].Contains(addr, 1) {
		return unwind.Window{}, false
	}
	return m.runs[i], true
}

// ReadMemory implements [unwind.Memory].
func (m *Memory) ReadMemory(addr uint64, p []byte) error {
	if len(p) == 0 {
		return nil
	}
	w, ok := m.find(addr)
	if !ok || !w.Contains(addr, len(p)) {
		return &unwind.MemoryError{Addr: addr, Size: len(p), Err: ErrNotInSnapshot}
	}
	copy(p, w.Data[addr-w.Addr:])
	return nil
}
