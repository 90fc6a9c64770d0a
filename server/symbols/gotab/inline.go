package gotab

import "iter"

// Indices of the tables behind runtime._func, and the size of a
// runtime.inlinedCall (runtime/symtabinl.go).
const (
	pcdataInlTreeIndex = 2
	funcdataInlTree    = 3
	inlinedCallSize    = 16
	maxInlineDepth     = 512 // far above the compiler's budget
)

// A Call is one level of inlining at a PC.
type Call struct {
	PC        uint64 // the PC asked for; at outer levels an instruction of the call site
	Name      string
	File      string // "" if the table does not say
	Line      int    // of the instruction, or of the call to the level before
	StartLine int32  // line of the func keyword
	Inlined   bool   // false for the physical function, always the last
}

// Calls yields the functions that the instruction at pc belongs to, the
// innermost inlined one first, the physical function last. Without function
// data ([Table.WithFuncData]) only the physical function comes, with the
// innermost position.
func (f Func) Calls(pc uint64) iter.Seq[Call] {
	return func(yield func(Call) bool) {
		if f.t == nil || !f.Contains(pc) {
			return
		}
		tree := f.inlineTree()
		for range maxInlineDepth {
			file, line, _ := f.FileLine(pc)
			call, parent, ok := f.inlinedAt(tree, pc)
			if !ok {
				yield(Call{PC: pc, Name: f.Name(), File: file, Line: line, StartLine: f.StartLine})
				return
			}
			call.PC, call.File, call.Line = pc, file, line
			if !yield(call) {
				return
			}
			pc = parent
		}
	}
}

// inlineTree is the function data from the function's inline tree on. How many
// calls it has is stored nowhere.
func (f Func) inlineTree() []byte {
	off, ok := f.funcdataOff(funcdataInlTree)
	if !ok || uint64(off) >= uint64(len(f.t.funcdata)) {
		return nil
	}
	return f.t.funcdata[off:]
}

// inlinedAt returns the inlined call that pc belongs to and the PC of its call
// site; ok is false in the physical function.
func (f Func) inlinedAt(tree []byte, pc uint64) (call Call, parent uint64, ok bool) {
	off, ok := f.pcdataOff(pcdataInlTreeIndex)
	if !ok {
		return Call{}, 0, false
	}
	index, ok := f.pcvalue(off, pc)
	if !ok || index < 0 {
		return Call{}, 0, false
	}
	at := uint64(index) * inlinedCallSize
	if at+inlinedCallSize > uint64(len(tree)) {
		return Call{}, 0, false
	}
	rec := tree[at:]
	name := cstring(f.t.names, uint64(f.t.order.Uint32(rec[4:])))
	// The call site lies in this function; anything else is corrupt.
	parent = f.Entry + uint64(f.t.order.Uint32(rec[8:]))
	if name == nil || !f.Contains(parent) {
		return Call{}, 0, false
	}
	return Call{Name: string(name), StartLine: int32(f.t.order.Uint32(rec[12:])), Inlined: true}, parent, true
}

// pcdataOff is where the i-th PC data table starts in pctab.
func (f Func) pcdataOff(i uint32) (uint32, bool) {
	if i >= f.npcdata {
		return 0, false
	}
	return f.tail(uint64(i))
}

// funcdataOff is where the i-th function data starts in go:func.*.
func (f Func) funcdataOff(i uint32) (uint32, bool) {
	if i >= uint32(f.nfuncdata) {
		return 0, false
	}
	return f.tail(uint64(f.npcdata) + uint64(i))
}

// tail reads one of the words that follow the fixed part of runtime._func:
// first npcdata, then nfuncdata of them.
func (f Func) tail(i uint64) (uint32, bool) {
	at := uint64(f.rec) + funcSize + i*4
	if at+4 > uint64(len(f.t.funcs)) {
		return 0, false
	}
	return f.t.order.Uint32(f.t.funcs[at:]), true
}
