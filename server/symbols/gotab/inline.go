package gotab

// Indices of the tables behind runtime._func, and the size of a
// runtime.inlinedCall (runtime/symtabinl.go).
const (
	pcdataInlTreeIndex = 2
	funcdataInlTree    = 3
	inlinedCallSize    = 16
	maxInlineDepth     = 512     // far above the compiler's budget, as is
	maxInlined         = 1 << 20 // of calls in one function
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

// Calls returns the functions that the instruction at pc belongs to, the innermost inlined one first, the physical function
// last. Without function data ([Table.WithFuncData]) only the physical function comes, with the innermost position. An
// [InlineError] says that the inlined calls are not to be believed: then the physical function comes alone, without a position,
// which would be that of another function. Outside the function there are none.
func (f Func) Calls(pc uint64) ([]Call, error) {
	if f.t == nil || !f.Contains(pc) {
		return nil, nil
	}
	var out []Call
	tree := f.inlineTree()
	for index := int32(maxInlined); ; {
		file, line, _ := f.FileLine(pc)
		at, wrong := f.inlinedIndex(tree, pc)
		switch { // callers come first in the tree
		case wrong == "" && at == index:
			wrong = "is its own caller"
		case wrong == "" && at > index:
			wrong = "comes behind one that it calls"
		}
		var call Call
		parent := uint64(0)
		if wrong == "" && len(out)+1 == maxInlineDepth {
			wrong = "lies too deep"
		}
		if wrong == "" && at >= 0 {
			call, parent, wrong = f.inlined(tree, at)
		}
		switch {
		case wrong != "":
			return []Call{{PC: pc, Name: f.Name(), StartLine: f.StartLine}}, &InlineError{f.Name(), f.Entry, at, wrong}
		case at < 0:
			return append(out, Call{PC: pc, Name: f.Name(), File: file, Line: line, StartLine: f.StartLine}), nil
		}
		call.PC, call.File, call.Line = pc, file, line
		out = append(out, call)
		pc, index = parent, at
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

// inlinedIndex returns the index of the inlined call that pc belongs to, -1 in the physical function, where
// there is no tree too.
func (f Func) inlinedIndex(tree []byte, pc uint64) (index int32, wrong string) {
	off, ok := f.pcdataOff(pcdataInlTreeIndex)
	if !ok || tree == nil {
		return -1, ""
	}
	index, ok = f.pcvalue(off, pc)
	switch {
	case !ok || index < 0:
		return -1, ""
	case index >= maxInlined || (uint64(index)+1)*inlinedCallSize > uint64(len(tree)):
		return index, "is behind the end of the tree"
	}
	return index, ""
}

// inlined returns an inlined call, and the PC of its call site.
func (f Func) inlined(tree []byte, index int32) (call Call, parent uint64, wrong string) {
	rec := tree[uint64(index)*inlinedCallSize:]
	name := cstring(f.t.names, uint64(f.t.order.Uint32(rec[4:])))
	parent = f.Entry + uint64(f.t.order.Uint32(rec[8:]))
	switch {
	case name == nil:
		return Call{}, 0, "has no name"
	case !f.Contains(parent):
		return Call{}, 0, "is made outside the function"
	}
	return Call{Name: string(name), StartLine: int32(f.t.order.Uint32(rec[12:])), Inlined: true}, parent, ""
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
