package delve

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/unwind"
)

// Call is a call of a line that a step can go into.
type Call struct {
	PC   uint64 // of its instruction
	Name string // of the function that it leads to
}

// Calls lists the calls of the line that the code at pc belongs to, from there on: those that
// lead to a function with lines. callee is as in [stepping.Decision].
func (s *Session) Calls(pc uint64, callee func(pc uint64) string) (out []Call) {
	group, unlock, err := s.stopped()
	if err != nil {
		return nil
	}
	defer unlock()
	t := group.Selected
	fn := t.BinInfo().PCToFunc(pc)
	if valid, _ := t.Valid(); !valid || fn == nil {
		return nil
	}
	for _, instr := range callsFrom(t, fn, pc) {
		if name, entries := s.crossingsFrom(t, callee).leadsTo(fn, instr); name != "" && len(entries) > 0 {
			out = append(out, Call{instr.Loc.PC, name})
		}
	}
	return out
}

// callsFrom returns the direct calls of the line that the code at pc belongs to, from there on.
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

// leadsTo returns the name of the function that a call leads to, through glue and linkage
// tables, and where a step into it ends: as crossings.entries, without what no step ends in.
func (c *crossings) leadsTo(from *proc.Function, call *proc.AsmInstruction) (name string, entries map[uint64]uint64) {
	to := call.DestLoc.PC
	fn := c.target.BinInfo().PCToFunc(to)
	native := isNative(from)
	switch {
	case fn == nil:
		if name = c.imported(to); !native || name == "" {
			return "", nil
		}
		c.add(c.named(name)...)
	case !native && c.viaStub(from, fn) != "":
		name = c.viaStub(from, fn)
		c.enterC(name)
	case native || to == fn.Entry && !ofRuntime(from, fn):
		name = strings.TrimPrefix(fn.Name, stepping.DelvesC)
		if c.add(fn); native && c.glue {
			c.exported()
		}
	}
	return name, c.entries
}

// viaStub returns the name of the C function that a call of Go code's is for, "" for other calls.
func (c *crossings) viaStub(from, fn *proc.Function) string {
	if stepping.IsStub(fn.Name) || !strings.HasPrefix(fn.Name, from.Name+".func") {
		return stepping.Callee(fn.Name)
	}
	for _, call := range c.calls(fn, every) { // cgo's check of pointers, see follow
		if stub := c.target.BinInfo().PCToFunc(call); stub != nil && stepping.IsStub(stub.Name) {
			return stepping.Callee(stub.Name)
		}
	}
	return ""
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

// intoOf finds the call that a step was decided to go into. The target's lock is held.
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
	regs, tls, err := registers(th)
	if err != nil {
		return false, err
	}
	a := arch(t)
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
	goroutine, high, err := b.session.runtime(t).Goroutine(b.session.currentG(t, th, tls, b.session.machines(t)))
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
