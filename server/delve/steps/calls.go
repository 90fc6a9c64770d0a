package steps

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/targets"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/server/stepping/lines"
	"github.com/clewdbg/clew/unwind"
)

// Call is a call of a line that a step can go into.
type Call struct {
	PC   uint64 // of its instruction
	Name string // of the function that it leads to
}

// Calls lists the calls that the code at pc can make until it leaves its line: those that
// lead to a function with lines. thread stands there, or the goroutine of none.
func (s *Stepper) Calls(pc, thread uint64, code stepping.Code) (out []Call) {
	group, unlock, err := s.program.Stopped()
	if err != nil {
		return nil
	}
	defer unlock()
	t := group.Selected
	if valid, _ := t.Valid(); !valid || code == nil {
		return nil
	}
	if _, native := code.Function(pc); native {
		return nativeCalls(t, thread, code)
	}
	fn := t.BinInfo().PCToFunc(pc)
	if fn == nil {
		return nil
	}
	for _, instr := range callsFrom(t, fn, pc) {
		if name, entries := s.crossingsFrom(t, code).leadsTo(fn, instr); name != "" && len(entries) > 0 {
			out = append(out, Call{instr.Loc.PC, name})
		}
	}
	return out
}

// nativeCalls lists those of a line of native code.
func nativeCalls(t *proc.Target, thread uint64, code stepping.Code) (out []Call) {
	th, ok := t.FindThread(int(thread))
	if !ok {
		return nil
	}
	regs, _, err := targets.Registers(th)
	if err != nil {
		return nil
	}
	targets, err := lines.Targets(targets.Arch(t), code, &standing{t, regs})
	if err != nil {
		return nil // what cannot be followed offers nothing
	}
	for i := range targets {
		out = append(out, Call{targets[i].PC, targets[i].Name})
	}
	return out
}

// callsFrom returns the direct calls of the Go line that the code at pc belongs to, from there on.
func callsFrom(t *proc.Target, fn *proc.Function, pc uint64) (out []*proc.AsmInstruction) {
	file, line, _ := t.BinInfo().PCToLine(pc)
	text, err := proc.Disassemble(t.Memory(), nil, t.Breakpoints(), t.BinInfo(), fn.Entry, fn.End)
	if err != nil {
		return nil
	}
	for i := range text {
		if instr := &text[i]; instr.Loc.PC >= pc && instr.Loc.File == file && instr.Loc.Line == line && instr.IsCall() && instr.DestLoc != nil {
			out = append(out, instr)
		}
	}
	return out
}

// leadsTo returns the name of the function that a call of Go code leads to, through glue, and where a step into it ends: as
// crossings.entries.
func (c *crossings) leadsTo(from *proc.Function, call *proc.AsmInstruction) (name string, entries map[uint64]uint64) {
	to := call.DestLoc.PC
	fn := c.target.BinInfo().PCToFunc(to)
	if fn == nil {
		return "", nil
	}
	if stub := c.stubOf(from, fn); stub != nil {
		name = stepping.Callee(stub.Name)
		c.enterC(stub)
	} else if to == fn.Entry && !ofRuntime(from, fn) {
		name = fn.Name
		c.add(fn)
	}
	return name, c.entries
}

// ofRuntime says whether a function is what the compiler calls for the user's code. Delve steps
// into none of these either.
func ofRuntime(from, fn *proc.Function) bool {
	name, ok := strings.CutPrefix(fn.Name, "runtime.")
	first, _ := utf8.DecodeRuneInString(name)
	return ok && !unicode.IsUpper(first) && !strings.HasPrefix(from.Name, "runtime.")
}

// into is the call that a step goes into.
type into struct {
	*stepping.Into
	to, returns uint64 // the function that is called, and the address that it returns to
	entries     map[uint64]uint64
	entered     bool
}

// intoOf finds the call of a Go line that a step was decided to go into. The target's lock is held.
func intoOf(c *crossings, d *stepping.Decision) *into {
	if d.Into == nil {
		return nil
	}
	fn := c.target.BinInfo().PCToFunc(d.Into.Call)
	if fn == nil {
		return nil
	}
	for _, instr := range callsFrom(c.target, fn, d.Into.Call) {
		if instr.Loc.PC != d.Into.Call {
			continue
		}
		if _, entries := c.leadsTo(fn, instr); len(entries) > 0 {
			return &into{Into: d.Into, to: instr.DestLoc.PC, returns: instr.Loc.PC + uint64(instr.Size), entries: entries}
		}
	}
	return nil
}

// enters is called where the function that is called begins. It stops nothing itself, unless
// the step ends there: it places the breakpoints behind the prologue, or where the code of the
// other language begins, for what runs now.
func (b *temporary) enters(th proc.Thread, t *proc.Target) (bool, error) {
	regs, tls, err := targets.Registers(th)
	if err != nil {
		return false, err
	}
	a := targets.Arch(t)
	sp, _ := regs.SP(a)
	fp, _ := regs.Get(a.FP())
	from, ok := regs.Get(a.LR())
	if a == unwind.AMD64 {
		from, ok = b.word(sp)
		sp += 8
	}
	if !ok || from != b.into.returns || b.into.entered {
		return false, nil
	}
	goroutine, high, err := b.stepper.reader.GoroutineOf(t, th, tls)
	if err != nil {
		goroutine, high = 0, 0 // a thread without a goroutine
	}
	if !b.into.Enters(uint64(th.ThreadID()), sp, fp, goroutine, high) {
		return false, nil
	}
	b.into.entered = true // it begins again when its stack has grown
	if b.into.entries[b.into.to] == b.into.to {
		return true, nil // there is no prologue
	}
	return false, b.enter(b.into.entries)
}
