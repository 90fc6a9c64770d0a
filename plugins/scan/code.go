package scan

import (
	"errors"
	"sort"

	"github.com/clewdbg/clew/unwind"
)

// chunk is the size of a request for code, in bytes, aligned to itself. It is a
// compromise: each request is a round trip, and most code of a chunk goes unread.
const chunk = 4 << 10

// maxChunks bounds the requests for code and pointers for one step; beyond it they count as
// unknown. The host answers 64 requests for memory at most.
const maxChunks = 48

// errNeed says that memory is missing, which the walk has asked for.
var errNeed = errors.New("memory is missing")

// source is the code and the pointers in a request's windows. It implements
// [callsite.Source].
type source struct {
	windows    unwind.Windows // by address
	executable unwind.RangeSet
	chunks     int // windows off the stack: those asked for so far
	need       unwind.Range
}

// stackReach is the distance above SP, in bytes, up to which a window counts as
// part of the stack.
const stackReach = 1 << 20

func newSource(windows unwind.Windows, executable unwind.RangeSet, sp uint64) *source {
	s := &source{windows: windows, executable: executable}
	if !sort.SliceIsSorted(windows, func(i, j int) bool { return windows[i].Addr < windows[j].Addr }) {
		s.windows = append(unwind.Windows(nil), windows...)
		sort.SliceStable(s.windows, func(i, j int) bool { return s.windows[i].Addr < s.windows[j].Addr })
	}
	for i := range windows {
		if windows[i].Addr-sp >= stackReach {
			s.chunks++
		}
	}
	return s
}

// at returns the bytes of the windows from addr on; asked is set if the host was
// asked for addr and had nothing.
func (s *source) at(addr uint64) (data []byte, asked bool) {
	// Windows may overlap, so the one that begins last need not be the one.
	const overlaps = 8
	i := sort.Search(len(s.windows), func(i int) bool { return s.windows[i].Addr > addr })
	for n := 0; i > 0 && n < overlaps; n++ {
		i--
		w := &s.windows[i]
		if w.Contains(addr, 1) {
			return w.Data[addr-w.Addr:], false
		}
		asked = asked || len(w.Data) == 0 && w.Addr == addr
	}
	return nil, asked
}

// Code implements [callsite.Source].
func (s *source) Code(addr uint64, n int) ([]byte, error) {
	in, ok := s.executable.Find(addr)
	if !ok {
		return nil, nil
	}
	n = int(min(uint64(n), in.End-addr))
	var out []byte
	for len(out) < n {
		at := addr + uint64(len(out))
		data, asked := s.at(at)
		if len(data) == 0 {
			if asked || s.chunks >= maxChunks {
				break
			}
			s.need = unwind.Range{Start: at, End: min(at-at%chunk+chunk, in.End)}
			return nil, errNeed
		}
		data = data[:min(len(data), n-len(out))]
		if len(data) == n { // all in one window, as a rule
			return data, nil
		}
		out = append(out, data...)
	}
	return out, nil
}

// Word implements [callsite.Source]. Its pointers lie in an image's data, which
// was not sent either.
func (s *source) Word(addr uint64) (uint64, bool, error) {
	if addr > ^uint64(0)-8 {
		return 0, false, nil
	}
	if v, ok := s.stack(addr); ok {
		return v, true, nil
	}
	if _, asked := s.at(addr); asked || s.chunks >= maxChunks {
		return 0, false, nil
	}
	s.need = unwind.Range{Start: addr, End: addr + 8}
	return 0, false, errNeed
}

// stack reads a word that one window holds. Both architectures are little-endian.
func (s *source) stack(addr uint64) (uint64, bool) {
	return s.windows.Word(addr, unwind.AMD64.ByteOrder())
}
