package steps

import (
	"slices"
	"strings"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/delve/targets"
	"github.com/clewdbg/clew/server/stepping"
	"github.com/clewdbg/clew/server/stepping/lines"
)

// crossings finds where code of the other language begins that a line calls: a C function
// that a line of Go calls through cgo, and the Go functions that C code can call back.
// Neither is seen by a step of Delve's, nor by the lines of C: between them lies cgo's glue.
type crossings struct {
	target *proc.Target
	cgo    *cgo
	code   stepping.Code
	line   func(instr *proc.AsmInstruction) bool

	// entries are the first instructions behind prologues, by the addresses where Go's functions begin, and for C's by
	// themselves; glue says that the line calls glue, found or not.
	entries map[uint64]uint64
	glue    bool
}

// cgo is what a program has of cgo's.
type cgo struct {
	images  int              // that were searched
	stubs   bool             // it calls C
	exports []*proc.Function // the glue before each Go function that C may call
}

// cgoOf searches a program's Go functions once.
func (s *Stepper) cgoOf(bi *proc.BinaryInfo) *cgo {
	if s.cgo != nil && s.cgo.images == len(bi.Images) {
		return s.cgo
	}
	found := &cgo{images: len(bi.Images)}
	for i := range bi.Functions {
		switch fn := &bi.Functions[i]; {
		case strings.HasPrefix(fn.Name, "_cgoexp_"):
			found.exports = append(found.exports, fn)
		case !found.stubs && stepping.IsStub(fn.Name):
			found.stubs = true
		}
	}
	s.cgo = found
	return found
}

// crossingsFrom returns none yet: calls add where they lead.
func (s *Stepper) crossingsFrom(t *proc.Target, code stepping.Code) *crossings {
	return &crossings{target: t, cgo: s.cgoOf(t.BinInfo()), code: code, entries: make(map[uint64]uint64)}
}

// crossingsOf finds them for the line that is about to step: of C, if native says so. The target's lock is held.
func (s *Stepper) crossingsOf(t *proc.Target, code stepping.Code, native bool) *crossings {
	bi, c := t.BinInfo(), s.crossingsFrom(t, code)
	if !c.cgo.stubs && len(c.cgo.exports) == 0 {
		return c
	}
	if native {
		c.exported()
		return c
	}
	file, line, fn := bi.PCToLine(pcOfStep(t))
	if fn == nil {
		return c
	}
	c.line = func(instr *proc.AsmInstruction) bool { return instr.Loc.File == file && instr.Loc.Line == line }
	for _, call := range c.calls(fn, c.line) {
		c.follow(fn, call)
	}
	if c.glue {
		c.exported()
	}
	return c
}

// pcOfStep is where what Delve steps stands.
func pcOfStep(t *proc.Target) uint64 {
	if g := t.SelectedGoroutine(); g != nil && g.Thread == nil {
		return g.PC
	}
	regs, err := t.CurrentThread().Registers()
	if err != nil {
		return 0
	}
	return regs.PC()
}

// calls lists where the direct calls in a function of Go's go to.
func (c *crossings) calls(fn *proc.Function, counts func(*proc.AsmInstruction) bool) (to []uint64) {
	text, err := proc.Disassemble(c.target.Memory(), nil, c.target.Breakpoints(), c.target.BinInfo(), fn.Entry, fn.End)
	if err != nil {
		return nil
	}
	for i := range text {
		if text[i].IsCall() && text[i].DestLoc != nil && counts(&text[i]) {
			to = append(to, text[i].DestLoc.PC)
		}
	}
	return to
}

func every(*proc.AsmInstruction) bool { return true }

// follow finds what a call of a Go line leads to.
func (c *crossings) follow(from *proc.Function, pc uint64) {
	fn := c.target.BinInfo().PCToFunc(pc)
	if fn == nil {
		return
	}
	if stub := c.stubOf(from, fn); stub != nil {
		c.enterC(stub)
	}
}

// stubOf returns cgo's function for the call of C that a call of Go code leads to, nil for other calls.
func (c *crossings) stubOf(from, fn *proc.Function) *proc.Function {
	if stepping.IsStub(fn.Name) {
		return fn
	}
	if !strings.HasPrefix(fn.Name, from.Name+".func") {
		return nil
	}
	for _, call := range c.calls(fn, every) { // cgo's check of pointers, see passesPointers of server/stepping
		if stub := c.target.BinInfo().PCToFunc(call); stub != nil && stepping.IsStub(stub.Name) {
			return stub
		}
	}
	return nil
}

// enterC adds what the wrapper calls that a stub of cgo's leads to: the C function, wherever it is, or what of it the
// compiler has put into the wrapper.
func (c *crossings) enterC(stub *proc.Function) {
	c.glue = true
	wrapper := c.wrapper(stub)
	if wrapper == 0 {
		for _, fn := range c.code.Named(stepping.Callee(stub.Name)) {
			c.native(fn.Body)
		}
		return
	}
	for _, pc := range lines.Entries(targets.Arch(c.target), c.code, wrapper, func(addr uint64) (uint64, bool) { return targets.Word(c.target, addr) }) {
		c.native(pc)
	}
}

// wrapper returns the C function that a stub has runtime.cgocall call. The stub loads its address from a variable, which the
// linker may have put behind a table.
func (c *crossings) wrapper(stub *proc.Function) uint64 {
	code := make([]byte, min(stub.End-stub.Entry, maxStub))
	n, err := c.target.Memory().ReadMemory(code, stub.Entry)
	if err != nil {
		return 0
	}
	for _, at := range lines.Loads(targets.Arch(c.target), code[:n], stub.Entry) {
		for range 2 {
			pc, ok := targets.Word(c.target, at)
			if fn, known := c.code.Function(pc); ok && known && fn.Entry == pc && stepping.Callee(fn.Name) == stepping.Callee(stub.Name) {
				return pc
			}
			at = pc
		}
	}
	return 0
}

// maxStub is far more than cgo's stubs have, in bytes.
const maxStub = 4 << 10

// exported adds the Go functions that C may call.
func (c *crossings) exported() {
	for _, glue := range c.cgo.exports {
		for _, call := range c.calls(glue, every) {
			if fn := c.target.BinInfo().PCToFunc(call); fn != nil && !strings.HasPrefix(fn.Name, "runtime.") {
				c.add(fn)
			}
		}
	}
}

// maxEntries bounds the breakpoints of one step.
const maxEntries = 512

// native adds an instruction of C code.
func (c *crossings) native(pc uint64) {
	if pc != 0 && len(c.entries) < maxEntries {
		c.entries[pc] = pc
	}
}

// add adds a function of Go's, at the first instruction behind the prologue. Glue is left out.
func (c *crossings) add(fn *proc.Function) {
	if fn.Entry == 0 || len(c.entries) >= maxEntries {
		return
	}
	if file, _ := c.target.BinInfo().EntryLineForFunc(fn); stepping.IsGlue(fn.Name, file) {
		c.glue = true
		return
	}
	if pc, err := proc.FirstPCAfterPrologue(c.target, fn, false); err == nil {
		c.entries[fn.Entry] = pc
	}
}

// passGlue takes the breakpoints out of Delve's step that lie in glue, or before a prologue
// that the step runs: it does not end there. Those that Delve itself places while the program
// runs come at the next resume.
func (b *temporary) passGlue() {
	const steps = proc.NextBreakpoint | proc.NextDeferBreakpoint | proc.StepBreakpoint | proc.StepIntoRangeOverFuncBodyBreakpoint
	for _, bp := range b.target.Breakpoints().M {
		if !bp.IsStepping() || b.passed[bp] || slices.Contains(b.placed, bp) {
			continue
		}
		b.passed[bp] = true
		body, ok := b.entries[bp.Addr]
		if before := ok && body != bp.Addr; !before && !b.isGlue(bp) {
			continue
		}
		for _, part := range bp.Breaklets {
			if part.Kind&steps != 0 {
				part.Kind = proc.NextInactivatedBreakpoint
			}
		}
	}
}

// isGlue says whether a breakpoint of Delve's lies in glue.
func (b *temporary) isGlue(bp *proc.Breakpoint) bool {
	if fn, ok := b.code.Function(bp.Addr); ok {
		return fn.Glue
	}
	return bp.FunctionName != "" && stepping.IsGlue(bp.FunctionName, bp.File)
}
