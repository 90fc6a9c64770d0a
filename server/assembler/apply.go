package assembler

import (
	"encoding/binary"

	"github.com/clewdbg/clew/internal/unwind/simulate"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

const (
	// Memory for rules is read in pieces of firstPiece to lastPiece bytes, since the
	// next frames lie above; maxPieces are kept.
	firstPiece = 1 << 10
	lastPiece  = 16 << 10
	maxPieces  = 8
)

// apply applies a rule to a frame. Memory that it needs is read from the target, and
// kept for the next frames.
func (p *program) apply(r *rule.Rule, regs *unwind.Registers, kind unwind.PCKind, caller *rule.Caller) error {
	f := &p.frame // it would be allocated otherwise
	*f = rule.Frame{Registers: regs, Kind: kind, PACMask: p.target.PACMask}
	var err error
	for range maxPieces {
		f.Memory = p.seen
		err = r.Apply(f, caller)
		missing, ok := err.(*rule.MissingMemory) //nolint:errorlint // made by Apply, never wrapped
		if !ok {
			break
		}
		if need := missing.Range; !p.read(need) {
			return &unwind.MemoryError{Addr: need.Start, Size: int(need.End - need.Start)}
		}
	}
	return err
}

// read reads the memory that a rule needs and some above.
func (p *program) read(need unwind.Range) bool {
	n := int(need.End - need.Start)
	size := max(n, p.piece)
	data := readUpTo(p.target.Memory, need.Start, 0, size)
	for len(data) < n && size > n { // a snapshot's memory may end within a page
		size = max(n, size/2)
		data = readUpTo(p.target.Memory, need.Start, 0, size)
	}
	if len(p.seen) == maxPieces {
		p.seen = p.seen[:1]
	}
	p.seen = append(p.seen, unwind.Window{Addr: need.Start, Data: data})
	p.piece = min(2*p.piece, lastPiece)
	return len(data) >= n
}

// stepBy makes the step out of a frame by a rule of the host.
func (p *program) stepBy(r *rule.Rule, regs *unwind.Registers, kind unwind.PCKind, step *unwind.Step) error {
	var c rule.Caller
	err := p.apply(r, regs, kind, &c)
	*step = unwind.Step{CFA: c.CFA, Caller: c.Registers, CallerKind: c.Kind, Trust: unwind.TrustCFI, Rule: r.String()}
	return err
}

// simulate returns the rule that code shows at pc, nil if it shows none.
func (p *program) simulate(way simulate.Way, code []byte, start, pc uint64) *simulate.Row {
	row, _ := simulate.At(p.target.Arch, way, code, start, pc)
	if row != nil {
		row.Big = p.target.order() == binary.BigEndian
	}
	return row
}

// certainRow returns the rule that a function's code proves, nil if there is
// none.
func (p *program) certainRow(way simulate.Way, fn *Function, pc uint64) *simulate.Row {
	if row := p.simulate(way, p.body(fn, pc), fn.Start, pc); row != nil && row.Sure {
		return row
	}
	return nil
}
