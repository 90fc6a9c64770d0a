package lines

import (
	"slices"

	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
)

// Step is a step of one thread. It is not safe for concurrent use.
type Step struct {
	walker
	mode Mode
	// only is the one call that is entered, 0 for all.
	only uint64
	cfa  uint64 // of the activation that steps, 0 if it is not known
	plan *plan
	// tracked says that the stack pointer does not tell the activations apart: the line's calls are awaited. inside is the call in
	// which the activation waits, nil for none.
	tracked bool
	inside  *waiting
	// bodies are where functions begin behind their prologues that were called, and binding the jumps by which the dynamic linker
	// leads to such ones.
	bodies, binding map[uint64]entered
	awaited         map[uint64]bool
	glue            bool
}

// waiting is a call that is not over.
type waiting struct{ returns, sp uint64 }

// entered is an activation of a function that was called: its stack pointer at the entry.
type entered struct{ sp uint64 }

// New makes a step. cfa is that of the thread's innermost frame, 0 if it is not known. With only not 0, the mode is [Over] but for the
// call there.
func New(arch unwind.Arch, code Code, mode Mode, only, cfa uint64) *Step {
	return &Step{walker: walker{arch: arch, code: code}, mode: mode, only: only, cfa: cfa,
		bodies: make(map[uint64]entered), binding: make(map[uint64]entered), awaited: make(map[uint64]bool)}
}

// Start begins the step where a thread stands, and returns where it is to be awaited. What it awaits at the thread's own instruction
// is taken into account already: the thread is awaited there when it comes again. The error is a [*CodeError].
func (s *Step) Start(th Thread) (await []uint64, err error) {
	pc, sp, ok := s.at(th)
	if !ok {
		return nil, &CodeError{0, "the thread's registers are not known"}
	}
	if height, ok := s.code.Height(pc); ok {
		s.cfa = sp + height
	}
	if err := s.begin(pc, s.code.Place(pc)); err != nil {
		return nil, err
	}
	if s.plan.calls[pc] || s.plan.branches[pc] {
		if _, err := s.take(pc, sp, th); err != nil {
			return nil, err
		}
	}
	return s.fresh(th), nil
}

// Glue says whether the step has come to a call of glue between C and Go that it goes into: then it ends where that leads to.
func (s *Step) Glue() bool { return s.glue }

func (s *Step) at(th Thread) (pc, sp uint64, ok bool) {
	pc, ok1 := th.Register(s.arch.PC())
	sp, ok2 := th.Register(s.arch.SP())
	return pc, sp, ok1 && ok2
}

// begin plans the way from an instruction.
func (s *Step) begin(pc uint64, origin Place) (err error) {
	if s.plan, err = planFrom(&s.walker, s.mode, pc, origin); err != nil {
		return err
	}
	s.settle()
	return nil
}

// settle finds out whether the stack pointer tells this activation from others wherever the plan awaits it.
func (s *Step) settle() {
	known := s.cfa != 0
	for _, set := range []map[uint64]bool{s.plan.exits, s.plan.branches} {
		for at := range set {
			_, ok := s.code.Height(at)
			known = known && ok
		}
	}
	s.tracked = !known
}

// fresh lists what is awaited and was not before, in order.
func (s *Step) fresh(th Thread) (await []uint64) {
	add := func(addr uint64) {
		if !s.awaited[addr] {
			s.awaited[addr] = true
			await = append(await, addr)
		}
	}
	for _, set := range []map[uint64]bool{s.plan.exits, s.plan.branches} {
		for at := range set {
			add(at)
		}
	}
	for at := range s.plan.calls {
		if s.tracked || s.enters(at) && !s.passes(at, th) {
			add(at)
		}
	}
	if s.inside != nil {
		add(s.inside.returns)
	}
	for _, set := range []map[uint64]entered{s.bodies, s.binding} {
		for at := range set {
			add(at)
		}
	}
	slices.Sort(await)
	return await
}

// enters says whether the step goes into what is called at an instruction.
func (s *Step) enters(at uint64) bool {
	if s.only != 0 {
		return at == s.only
	}
	return s.mode == Into
}

// passes says whether a call leads to what no step ends in, wherever the thread is.
func (s *Step) passes(at uint64, th Thread) bool {
	in, _ := s.decode(at)
	if in.Flow != prologue.FlowCall {
		return false
	}
	c := s.callee(in.Target, th)
	return c.passed()
}

// Arrive says whether the step ends where the thread stands, which was awaited there, and where it is to be awaited else. An error is
// a [*CodeError]: it ends the step as well.
func (s *Step) Arrive(th Thread) (ends bool, await []uint64, err error) {
	pc, sp, ok := s.at(th)
	if !ok {
		return true, nil, &CodeError{pc, "the thread's registers are not known"}
	}
	if in := s.inside; in != nil && in.returns == pc && in.sp == sp {
		s.inside = nil
	}
	if s.entered(pc, sp) {
		return true, nil, nil
	}
	if e, ok := s.binding[pc]; ok && e.sp == sp {
		_, code := s.decode(pc)
		if to, ok := s.leadsTo(code, pc, th); ok {
			s.enter(to, sp, th)
		}
	}
	if s.inside == nil && s.mine(pc, sp) {
		switch {
		case s.plan.exits[pc]:
			if ends, err = s.land(pc); ends || err != nil {
				return true, nil, err
			}
			if !s.plan.calls[pc] && !s.plan.branches[pc] {
				break
			}
			fallthrough // the new line begins with it
		case s.plan.calls[pc], s.plan.branches[pc]:
			if ends, err = s.take(pc, sp, th); ends || err != nil {
				return true, nil, err
			}
		}
	}
	return false, s.fresh(th), nil
}

// mine says whether the thread is in the activation that steps.
func (s *Step) mine(pc, sp uint64) bool {
	height, ok := s.code.Height(pc)
	if !ok || s.cfa == 0 {
		return s.tracked
	}
	return sp == s.cfa-height
}

// Below says whether a frame that goes on at an instruction with a stack pointer was called by the activation that steps; known is
// false where that cannot be told.
func (s *Step) Below(pc, sp uint64) (below, known bool) {
	height, ok := s.code.Height(pc)
	return sp+height < s.cfa, ok && s.cfa != 0
}

// entered says whether the thread stands behind the prologue of a function that the step has called.
func (s *Step) entered(pc, sp uint64) bool {
	e, ok := s.bodies[pc]
	if !ok {
		return false
	}
	height, ok := s.code.Height(pc)
	return !ok && sp <= e.sp || ok && sp+height == e.cfa(s.arch)
}

// cfa is the activation's.
func (e entered) cfa(arch unwind.Arch) uint64 {
	if arch == unwind.AMD64 {
		return e.sp + 8
	}
	return e.sp
}

// land says whether the step ends at an instruction of another line. Else it goes on through that line, from its middle.
func (s *Step) land(pc uint64) (ends bool, err error) {
	place := s.code.Place(pc)
	if s.mode == Beyond || place.Start == pc && place.Statement {
		return true, nil
	}
	return false, s.begin(pc, place)
}

// take sees where a call or jump of the line leads to.
func (s *Step) take(pc, sp uint64, th Thread) (ends bool, err error) {
	in, code := s.decode(pc)
	to := in.Target
	switch in.Flow {
	case prologue.FlowCallIndirect, prologue.FlowJumpIndirect:
		var ok bool
		if to, ok = s.leadsTo(code, pc, th); !ok && in.Flow == prologue.FlowJumpIndirect {
			return true, &CodeError{pc, "where it jumps to is not known"}
		}
	}
	switch in.Flow {
	case prologue.FlowCall, prologue.FlowCallIndirect:
		if s.tracked {
			s.inside = &waiting{pc + uint64(in.Len), sp}
		}
		if s.enters(pc) {
			if s.arch == unwind.AMD64 {
				sp -= 8
			}
			s.enter(to, sp, th)
		}
	case prologue.FlowJumpIndirect:
		if s.plan.fn.contains(to) {
			return false, s.turn(pc, to)
		}
		fallthrough
	default:
		if s.enters(pc) {
			s.enter(to, sp, th)
		}
	}
	return false, nil
}

// turn goes on where a jump through a register leads to in the function.
func (s *Step) turn(pc, to uint64) error {
	here := s.code.Place(pc)
	if !s.plan.stays(&here, to) {
		s.plan.exits[to] = true
	} else if err := s.plan.follow(to); err != nil {
		return err
	}
	s.settle()
	return nil
}

// enter awaits the function that a call leads to. sp is the stack pointer at its entry.
func (s *Step) enter(to, sp uint64, th Thread) {
	c := s.callee(to, th)
	switch {
	case c.fn.Glue:
		s.glue = true
	case c.fn.Body != 0:
		s.bodies[c.fn.Body] = entered{sp}
	case c.later != 0:
		s.binding[c.later] = entered{sp}
	}
}
