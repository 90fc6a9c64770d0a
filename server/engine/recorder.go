package engine

import (
	"sort"

	"github.com/clewdbg/clew/unwind"
)

// Recorder is memory that remembers what was read of it, so that a snapshot
// holds just what the stacks rest on.
type Recorder struct {
	memory  unwind.Memory
	windows []unwind.Window
}

// NewRecorder records reads of memory.
func NewRecorder(memory unwind.Memory) *Recorder { return &Recorder{memory: memory} }

// ReadMemory implements [unwind.Memory].
func (r *Recorder) ReadMemory(addr uint64, p []byte) error {
	if err := r.memory.ReadMemory(addr, p); err != nil {
		return err
	}
	data := make([]byte, len(p))
	copy(data, p)
	r.windows = append(r.windows, unwind.Window{Addr: addr, Data: data})
	return nil
}

// Windows returns what was read, sorted, without overlaps. The target was stopped
// all the while, so overlapping reads agree.
func (r *Recorder) Windows() []unwind.Window {
	sort.SliceStable(r.windows, func(i, j int) bool { return r.windows[i].Addr < r.windows[j].Addr })
	var out []unwind.Window
	for _, w := range r.windows {
		if n := len(out); n > 0 {
			last := &out[n-1]
			end := last.Addr + uint64(len(last.Data))
			if w.Addr <= end {
				if over := end - w.Addr; over < uint64(len(w.Data)) {
					last.Data = append(last.Data, w.Data[over:]...)
				}
				continue
			}
		}
		out = append(out, unwind.Window{Addr: w.Addr, Data: append([]byte(nil), w.Data...)})
	}
	r.windows = append(r.windows[:0], out...)
	return out
}
