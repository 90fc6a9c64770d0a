package assembler

import (
	"strings"

	"github.com/clewdbg/clew/internal/unwind/callsite"
	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// program reads a target's code and stack for one walk, and caches them, since
// recursion asks for the same again and again.
type program struct {
	target    *Target
	tracer    callsite.Tracer
	functions map[unwind.LookupAddr]*described
	last      *described // that was asked for last, at lastAt
	lastAt    unwind.LookupAddr
	// seen is memory that was read: first the stack window that a strategy had last.
	// Checks and rules word by word do not read from the process each time.
	seen   unwind.Windows
	pieces [maxPieces]unwind.Window // room for it
	piece  int                      // size of the next read for a rule, in bytes
	frame  rule.Frame               // that a rule is applied to
	source codeSource
	// followed is the last frame whose code was followed forwards, aheadLeft what may still be.
	followed  aheadRow
	aheadLeft int
}

// place is a code address's function. The zero Function stands for no known one.
type place struct {
	Function
	known bool
}

// traceBudget bounds the instructions that are decoded for one stack.
const traceBudget = 2_000_000

func newProgram(t *Target) *program {
	p := &program{target: t, source: codeSource{target: t}, functions: make(map[unwind.LookupAddr]*described), piece: firstPiece, aheadLeft: aheadBudget}
	p.tracer = callsite.Tracer{Arch: t.Arch, Source: &p.source, Budget: traceBudget}
	p.seen = p.pieces[:1]
	return p
}

func (p *program) describe(at unwind.LookupAddr) *described {
	if p.last != nil && p.lastAt == at { // a recursion
		return p.last
	}
	d, ok := p.functions[at]
	if !ok {
		d = &described{}
		d.Function, d.known = p.target.Code.Function(at)
		p.functions[at] = d
	}
	p.last, p.lastAt = d, at
	return d
}

// function looks a function up, once for each address.
func (p *program) function(at unwind.LookupAddr) *place { return &p.describe(at).place }

// functionOf is the function of a frame.
func (p *program) functionOf(f *unwind.Frame) *place { return p.function(f.PC.Lookup(p.target.Arch)) }

// body returns the original bytes of a function, as far as they are known. They
// reach beyond the PC, so that an epilogue can be recognised.
func (p *program) body(fn *Function, pc uint64) []byte {
	end := fn.End
	if end <= fn.Start {
		end = pc + 256
	}
	return p.target.original(fn.Start, int(min(end-fn.Start, maxCode)))
}

// maxCode bounds the original bytes of a function, in a request and in a
// simulation: functions are rarely larger, and a prologue never.
const maxCode = 64 << 10

// bounded reports whether a function's end is known and the function is not too
// large.
func (fn *Function) bounded() bool { return fn.End > fn.Start && fn.End-fn.Start <= maxCode }

// code returns original bytes, from pages that are kept.
func (p *program) code(addr uint64, n int) []byte {
	code, _ := p.source.Code(addr, n) // this source has no errors
	return code
}

// word reads a word of the stack, from memory that was read already where that has
// it.
func (p *program) word(addr uint64) (uint64, bool) {
	if p.target.Arch.PointerSize() == 8 {
		if v, ok := p.seen.Word(addr, p.target.order()); ok {
			return v, true
		}
	}
	v, err := p.target.word(addr)
	return v, err == nil
}

// startsContext reports whether code is that to which a context's first function returns
// (makecontext): no call leads there, and the context's stack begins there.
func (p *program) startsContext(at uint64) bool {
	if codemodel.StartsContext(p.target.Arch, at, p.code) {
		return true
	}
	fn := p.function(unwind.LookupAddr(at))
	return fn.Start == at && strings.HasPrefix(fn.Name, contextStart)
}

const contextStart = "__start_context"

// startsThread reports whether a frame is a C library's code that begins a thread, which has no name in a stripped library.
func (p *program) startsThread(f *unwind.Frame) bool {
	return f.PC.Kind() == unwind.KindReturn && codemodel.StartsThread(p.target.Arch, f.PC.Raw(), p.code)
}

const threadStart = "the start of a thread"

// wild reports whether a frame's program counter lies outside all code.
func (p *program) wild(f *unwind.Frame) bool {
	pc := f.PC.Raw()
	return f.PC.Kind() == unwind.KindInstruction && (pc < unwind.LowestCode || p.target.Executable != nil && !p.target.Executable.Contains(pc))
}

// callsBefore returns the calls that the bytes before a return address can be; known is false
// where the code is unknown, or its architecture's calls (R17).
func (p *program) callsBefore(ra uint64) (calls []callsite.Call, known bool) {
	code := p.code(ra-callsite.Longest, callsite.Longest)
	if len(code) < callsite.Longest {
		return nil, false
	}
	return callsite.Before(p.target.Arch, code, ra)
}

// leadsTo reports whether the code that a call enters leads to a frame's place,
// and returns that function's start.
func (p *program) leadsTo(call callsite.Call, f *unwind.Frame) (entry uint64, ok bool) {
	if fn := p.functionOf(f); call.Direct && fn.known && fn.Exact && call.Target == fn.Start {
		return fn.Start, true // by whatever way: a jump table, for one
	}
	answer, entry, err := p.tracer.Leads(call, f.PC)
	return entry, err == nil && answer == callsite.Reached
}

// directCallee returns the function that the direct call right before a return
// address calls; it is not known where no direct call is there.
func (p *program) directCallee(ra uint64) *place {
	if target, ok := p.target.callTarget(ra); ok {
		return p.function(unwind.InstructionAddr(target).Lookup(p.target.Arch))
	}
	return &unknownPlace
}

// callTarget returns where the direct call right before a return address goes to.
func (t *Target) callTarget(ra uint64) (uint64, bool) {
	const most = 5
	calls, _ := callsite.Before(t.Arch, t.Code.Bytes(ra-most, most), ra)
	for _, call := range calls {
		if call.Direct {
			return call.Target, true
		}
	}
	return 0, false
}

// behindCall says that the instruction before ra calls: on arm64 by a register, too, since
// no other bytes look like that.
func (t *Target) behindCall(ra uint64) bool {
	if t.Arch != unwind.ARM64 {
		_, direct := t.callTarget(ra)
		return direct
	}
	calls, _ := callsite.Before(t.Arch, t.Code.Bytes(ra-4, 4), ra)
	return len(calls) > 0
}

// original returns original bytes of code up to the first gap: from the image's
// file, else from memory, which has no breakpoints in it.
func (t *Target) original(addr uint64, n int) []byte {
	code := t.Code.Bytes(addr, n)
	if len(code) == n || !t.Executable.Contains(addr) {
		return code
	}
	if more := readUpTo(t.Memory, addr, 0, n); len(more) > len(code) {
		return more
	}
	return code
}

// codeSource is a target's code and memory for a tracer. It keeps the pages of
// code that it has read.
type codeSource struct {
	target *Target
	pages  map[uint64][]byte
}

// Code implements [callsite.Source].
func (s *codeSource) Code(addr uint64, n int) ([]byte, error) {
	if s.pages == nil {
		s.pages = make(map[uint64][]byte)
	}
	var out []byte
	for len(out) < n {
		at := addr + uint64(len(out))
		base := at &^ (pageSize - 1)
		page, ok := s.pages[base]
		if !ok {
			page = s.target.original(base, pageSize)
			s.pages[base] = page
		}
		off := int(at - base)
		if off >= len(page) {
			// An image may begin within a page.
			if len(page) == 0 {
				out = append(out, s.target.original(at, n-len(out))...)
			}
			break
		}
		out = append(out, page[off:min(len(page), off+n-len(out))]...)
	}
	return out, nil
}

// Word implements [callsite.Source].
func (s *codeSource) Word(addr uint64) (uint64, bool, error) {
	v, err := s.target.word(addr)
	return v, err == nil, nil
}
