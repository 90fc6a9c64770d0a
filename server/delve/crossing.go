package delve

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/server/stepping"
)

// crossings finds where code of the other language begins that a line calls: a C function
// that a line of Go calls through cgo, and the Go functions that C code can call back.
// Delve's own step sees neither: between them lies cgo's glue.
type crossings struct {
	target *proc.Target
	cgo    *cgo
	callee func(pc uint64) string // see stepping.Decision
	line   func(instr *proc.AsmInstruction) bool

	// entries are the first instructions behind prologues, by the addresses where the
	// functions begin, and 0 for linkage tables, in which no step ends; glue says that the line
	// calls glue, found or not.
	entries map[uint64]uint64
	glue    bool
}

// cgo is what a program has of cgo's.
type cgo struct {
	images  int              // that were searched
	stubs   bool             // it calls C
	exports []*proc.Function // the glue before each Go function that C may call
	wrapped []*proc.Function // the glue before each C function
}

// cgoOf searches a program's functions once.
func (s *Session) cgoOf(bi *proc.BinaryInfo) *cgo {
	if s.cgo != nil && s.cgo.images == len(bi.Images) {
		return s.cgo
	}
	found := &cgo{images: len(bi.Images)}
	for i := range bi.Functions {
		switch fn := &bi.Functions[i]; {
		case strings.HasPrefix(fn.Name, "_cgoexp_"):
			found.exports = append(found.exports, fn)
		case strings.HasPrefix(fn.Name, stepping.DelvesC+"_cgo_") && stepping.IsStub(fn.Name):
			found.wrapped = append(found.wrapped, fn)
		case !found.stubs && stepping.IsStub(fn.Name):
			found.stubs = true
		}
	}
	s.cgo = found
	return found
}

// crossingsFrom returns none yet: calls add where they lead.
func (s *Session) crossingsFrom(t *proc.Target, callee func(uint64) string) *crossings {
	return &crossings{target: t, cgo: s.cgoOf(t.BinInfo()), callee: callee, entries: make(map[uint64]uint64)}
}

// crossingsOf finds them for the line that is about to step. The target's lock is held.
func (s *Session) crossingsOf(t *proc.Target, callee func(uint64) string) *crossings {
	bi, c := t.BinInfo(), s.crossingsFrom(t, callee)
	if !c.cgo.stubs && len(c.cgo.exports) == 0 {
		return c
	}
	file, line, fn := bi.PCToLine(pcOfStep(t))
	if fn == nil {
		return c
	}
	c.line = func(instr *proc.AsmInstruction) bool { return instr.Loc.File == file && instr.Loc.Line == line }
	native := isNative(fn)
	for _, call := range c.calls(fn, c.line) {
		c.follow(fn, call, native)
	}
	if native || c.glue {
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

// isNative says whether a function is not Go's. Its file may be one of Go's: cgo's
// preambles are.
func isNative(fn *proc.Function) bool { return strings.HasPrefix(fn.Name, stepping.DelvesC) }

// calls lists where the direct calls in a function go to.
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

// follow finds what a call of the line leads to.
func (c *crossings) follow(from *proc.Function, pc uint64, native bool) {
	fn := c.target.BinInfo().PCToFunc(pc)
	switch {
	case native:
		if fn == nil { // of a library
			c.entries[pc] = 0
			c.add(c.named(c.imported(pc))...)
		} else {
			c.add(fn) // Delve stops before the prologue
		}
	case fn == nil:
	case stepping.IsStub(fn.Name):
		c.enterC(stepping.Callee(fn.Name))
	case strings.HasPrefix(fn.Name, from.Name+".func"):
		for _, call := range c.calls(fn, every) { // cgo's check of pointers, see passesPointers of server/stepping
			if stub := c.target.BinInfo().PCToFunc(call); stub != nil && stepping.IsStub(stub.Name) {
				c.enterC(stepping.Callee(stub.Name))
			}
		}
	}
}

// enterC adds a C function, wherever it is: code of an export's preamble is compiled twice.
func (c *crossings) enterC(name string) {
	c.glue = true
	functions := c.named(name)
	for _, wrapper := range c.cgo.wrapped {
		if stepping.Callee(wrapper.Name) != name {
			continue
		}
		for _, fn := range functions {
			for _, inlined := range fn.InlinedCalls {
				if inlined.LowPC >= wrapper.Entry && inlined.LowPC < wrapper.End {
					c.entries[inlined.LowPC] = inlined.LowPC
				}
			}
		}
		for _, call := range c.calls(wrapper, every) {
			if fn := c.target.BinInfo().PCToFunc(call); fn != nil {
				functions = append(functions, fn)
			} else {
				functions = append(functions, c.named(c.imported(call))...)
			}
		}
	}
	c.add(functions...)
}

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

// named returns the functions of a name.
func (c *crossings) named(name string) []*proc.Function {
	if name == "" {
		return nil
	}
	return c.target.BinInfo().LookupFunc()[stepping.DelvesC+name]
}

// maxEntries bounds the breakpoints of one step.
const maxEntries = 512

// add adds functions, at the first instruction behind the prologue. Glue is left out.
func (c *crossings) add(functions ...*proc.Function) {
	for _, fn := range functions {
		if fn.Entry == 0 || len(c.entries) >= maxEntries {
			continue
		}
		file, _ := c.target.BinInfo().EntryLineForFunc(fn)
		if isNative(fn) && !filepath.IsAbs(file) {
			continue // a distribution's library, whose source is not on this machine
		}
		if stepping.IsGlue(fn.Name, file) {
			c.glue = true
			continue
		}
		pc, err := proc.FirstPCAfterPrologue(c.target, fn, false)
		if err != nil {
			continue
		}
		if pc == fn.Entry && isNative(fn) {
			pc = c.body(fn)
		}
		c.entries[fn.Entry] = pc
	}
}

// body returns where a C function's second line begins, as other debuggers do. Delve
// knows Go's prologues only. Optimized code has its arguments in place at once.
func (c *crossings) body(fn *proc.Function) uint64 {
	const most = 128 // bytes of a prologue
	text, err := proc.Disassemble(c.target.Memory(), nil, c.target.Breakpoints(), c.target.BinInfo(), fn.Entry, min(fn.End, fn.Entry+most))
	if err != nil || len(text) < 2 {
		return fn.Entry
	}
	var code []byte
	for i := range min(len(text), 4) {
		code = append(code, text[i].Bytes...)
	}
	if !storesArguments(c.target.BinInfo().Arch.Name, code) {
		return fn.Entry
	}
	for i := range text {
		if text[i].Loc.Line != text[0].Loc.Line {
			return text[i].Loc.PC
		}
		if text[i].IsCall() || text[i].IsRet() {
			break
		}
	}
	return fn.Entry
}

// imported returns the name of the function that an entry of a procedure linkage table
// leads to, "" for other code.
func (c *crossings) imported(pc uint64) string {
	if c.callee == nil {
		return ""
	}
	name, isEntry := strings.CutSuffix(c.callee(pc), "@plt")
	if !isEntry {
		return ""
	}
	return name
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
		if before := ok && body != bp.Addr; !before && (bp.FunctionName == "" || !stepping.IsGlue(bp.FunctionName, bp.File)) {
			continue
		}
		for _, part := range bp.Breaklets {
			if part.Kind&steps != 0 {
				part.Kind = proc.NextInactivatedBreakpoint
			}
		}
	}
}
