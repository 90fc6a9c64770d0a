package scan

import (
	"github.com/clewdbg/clew/internal/unwind/callsite"
	"github.com/clewdbg/clew/internal/unwind/simulate"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// Bounds of a simulation, in bytes: how far behind its function's entry a frame
// may be, and how much code behind the frame's place is simulated too.
const (
	maxEntryDistance = 64 << 10
	codeBehind       = 256
)

// candidate is a word that may be the return address.
type candidate struct {
	slot, ra uint64
	calls    int // that the bytes before it can be
	answer   callsite.Answer
	begin    uint64 // where the function begins that was called, if that leads here
	signal   bool   // a signal's handler returns there
	entry    *entry // agrees with the slot
}

// entry is the layout of the frame that is left, by its function's code.
type entry struct {
	*simulate.Row
	cfa     uint64
	slot    uint64 // of the return address
	onStack bool   // it has a slot
	// certain is set if the CFA is known by the stack pointer. The frame pointer
	// may itself be guessed.
	certain bool
}

// ownEntry is the entry by the code that came with the request, if the
// function's start is known for certain.
func (w *walker) ownEntry() (*entry, bool) {
	f := w.function
	if f == nil || !f.Exact || len(f.Code) == 0 {
		return nil, false
	}
	e, ok := w.simulated(f.Code, f.Start)
	return e, ok && e.certain
}

// entryAt is the entry by the code of a function that begins at start.
func (w *walker) entryAt(start uint64) (*entry, bool, error) {
	pc := w.pcAddr.Raw()
	if pc < start || pc-start > maxEntryDistance {
		return nil, false, nil
	}
	code, err := w.source.Code(start, int(pc-start)+codeBehind)
	if err != nil {
		return nil, false, err
	}
	e, ok := w.simulated(code, start)
	return e, ok, nil
}

func (w *walker) simulated(code []byte, start uint64) (*entry, bool) {
	way := simulate.Waiting
	if w.innermost() {
		way = simulate.Stopped
	}
	row, _ := simulate.At(w.Arch, way, code, start, w.pcAddr.Raw())
	if row == nil || row.CFA.Deref || row.RA.Deref && row.RA.From != rule.CFA {
		return nil, false
	}
	base, ok := w.regs.Get(row.CFA.Register)
	if !ok {
		return nil, false
	}
	e := &entry{Row: row, cfa: base + uint64(row.CFA.Offset), certain: row.CFA.Register == w.sp || w.innermost(), onStack: row.RA.Deref}
	e.slot = e.cfa + uint64(row.RA.Offset)
	return e, true
}

// innermost reports whether all registers are those of the processor.
func (w *walker) innermost() bool { return w.pcAddr.Kind() == unwind.KindInstruction }
