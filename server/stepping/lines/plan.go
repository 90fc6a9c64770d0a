package lines

import (
	"fmt"

	"github.com/clewdbg/clew/internal/unwind/prologue"
)

// Mode says what is passed.
type Mode uint8

// The modes.
const (
	Over   Mode = iota // what the line calls
	Into               // nothing
	Beyond             // all lines of the inlined call: a step out of it
)

// maxInstructions bounds the instructions of a line.
const maxInstructions = 50_000

// CodeError says that the way of a step cannot be followed.
type CodeError struct {
	Addr   uint64
	Reason string
}

// Error names the address.
func (e *CodeError) Error() string {
	return fmt.Sprintf("the line's code at %#x cannot be followed: %s", e.Addr, e.Reason)
}

// plan is what a thread can do from its place, until it is somewhere else.
type plan struct {
	*walker
	mode   Mode
	fn     Function
	origin Place
	seen   map[uint64]bool
	// exits are where other lines begin; calls the line's calls, and branches its jumps out of the function and those
	// through a register or memory.
	exits, calls, branches map[uint64]bool
}

// planFrom follows the code of a line.
func planFrom(w *walker, mode Mode, pc uint64, origin Place) (*plan, error) {
	fn, ok := w.code.Function(pc)
	if !ok {
		return nil, &CodeError{pc, "it belongs to no function that is known"}
	}
	p := &plan{walker: w, mode: mode, fn: fn, origin: origin, seen: make(map[uint64]bool),
		exits: make(map[uint64]bool), calls: make(map[uint64]bool), branches: make(map[uint64]bool)}
	return p, p.follow(pc)
}

// follow follows the line's code from an address in it.
func (p *plan) follow(from uint64) error {
	work := []uint64{from}
	for len(work) > 0 {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		if p.seen[at] {
			continue
		}
		if p.seen[at] = true; len(p.seen) > maxInstructions {
			return &CodeError{at, "the line is too long"}
		}
		in, _ := p.decode(at)
		next := at + uint64(in.Len)
		ways := make([]uint64, 0, 2)
		switch in.Flow {
		case prologue.FlowNext:
			ways = append(ways, next)
		case prologue.FlowCall, prologue.FlowCallIndirect:
			p.calls[at] = true
			ways = append(ways, next)
		case prologue.FlowCond:
			ways = append(ways, next, in.Target)
		case prologue.FlowJump:
			ways = append(ways, in.Target)
		case prologue.FlowJumpIndirect:
			p.branches[at] = true
		case prologue.FlowUnknown:
			return &CodeError{at, "no instruction is known"}
		}
		here := p.code.Place(at)
		for _, to := range ways {
			switch {
			case p.fn.contains(to):
				if p.stays(&here, to) {
					work = append(work, to)
				} else {
					p.exits[to] = true
				}
			case in.Flow == prologue.FlowJump || in.Flow == prologue.FlowCond && to == in.Target:
				p.branches[at] = true
			}
		}
	}
	return nil
}

// stays says whether the line still runs at an instruction that one before leads to.
func (p *plan) stays(before *Place, to uint64) bool {
	place := p.code.Place(to)
	if place.Start == before.Start || !place.Lined() || p.inLine(&place) {
		return true // the first: within a row that is passed
	}
	return p.mode != Beyond && to == place.Start && !place.Statement
}

// inLine says whether a place belongs to what the step passes.
func (p *plan) inLine(at *Place) bool {
	depth := len(p.origin.Chain)
	if len(at.Chain) < depth {
		return false
	}
	mine := p.origin.Chain
	its := at.Chain[len(at.Chain)-depth:]
	for i := 1; i < depth; i++ {
		if mine[i] != its[i] {
			return false
		}
	}
	if depth == 0 || mine[0].Function != its[0].Function {
		return false
	}
	if p.mode == Beyond {
		return true
	}
	// Deeper ones are inlined into this line, or into another.
	return mine[0] == its[0] && (p.mode == Over || len(at.Chain) == depth)
}
