package lines

import (
	"cmp"
	"slices"

	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
)

// Target is a call of a line that a step can go into.
type Target struct {
	PC uint64
	Function
}

// Targets lists the calls that a thread can make from where it stands until it leaves its line, in the order of their addresses: those
// of functions that a step into ends in.
func Targets(arch unwind.Arch, code Code, th Thread) (out []Target, err error) {
	s := New(arch, code, Into, 0, 0)
	pc, _, ok := s.at(th)
	if !ok {
		return nil, nil
	}
	p, err := planFrom(&s.walker, Into, pc, code.Place(pc))
	if err != nil {
		return nil, err
	}
	for at := range p.calls {
		in, bytes := s.decode(at)
		to, ok := in.Target, in.Flow == prologue.FlowCall
		if !ok && at == pc {
			to, ok = s.leadsTo(bytes, at, th)
		}
		if !ok && in.Pointer != 0 {
			to, ok = th.Word(in.Pointer)
		}
		if !ok {
			continue
		}
		c := s.callee(to, th)
		if c.later != 0 {
			c.fn, _ = code.Imported(to)
		}
		if c.fn.Body != 0 || c.fn.Glue {
			out = append(out, Target{at, c.fn})
		}
	}
	slices.SortFunc(out, func(a, b Target) int { return cmp.Compare(a.PC, b.PC) })
	return out, nil
}

// Entries returns where the code ends up that a function of glue calls, whatever it calls: behind the prologues of functions with lines,
// and where such ones are inlined. word reads memory.
func Entries(arch unwind.Arch, code Code, entry uint64, word func(addr uint64) (uint64, bool)) (out []uint64) {
	w := &walker{arch: arch, code: code}
	p, _ := planFrom(w, Into, entry, code.Place(entry)) // what was found before an error counts
	if p == nil {
		return nil
	}
	th := reader(word)
	add := func(to uint64) {
		c := w.callee(to, th)
		if c.later != 0 {
			c.fn, _ = code.Imported(to)
		}
		if c.fn.Body != 0 {
			out = append(out, c.fn.Body)
		}
	}
	for at := range p.exits {
		out = append(out, at)
	}
	for _, set := range []map[uint64]bool{p.calls, p.branches} {
		for at := range set {
			switch in, _ := w.decode(at); {
			case in.Flow == prologue.FlowCall || in.Flow == prologue.FlowJump || in.Flow == prologue.FlowCond:
				add(in.Target)
			case in.Pointer != 0:
				if to, ok := word(in.Pointer); ok {
					add(to)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// reader is a thread that stands nowhere yet.
type reader func(addr uint64) (uint64, bool)

// Register implements [Thread].
func (reader) Register(unwind.Register) (uint64, bool) { return 0, false }

// Word implements [Thread].
func (r reader) Word(addr uint64) (uint64, bool) { return r(addr) }
