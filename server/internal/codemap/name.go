package codemap

import (
	"slices"

	"github.com/clewdbg/clew/internal/unwind/callsite"
	"github.com/clewdbg/clew/unwind"
)

// Name sets every frame's function, source line, image and offset, looked up at
// the caller address (R9); a signal's trampoline, which no call leads to and
// which begins right behind another function, at its first instruction. Inlined
// functions are frames too, with the trust of the frame that they lie in (R1).
//
// Frames of Go code with DWARF that have a function already keep it and the inlined
// frames before it: Delve has them from there. Of other code, and of Go code in a
// program without DWARF, where Delve has wrong lines, the resolver's chain counts where
// there is one; what Delve says of it is a claim, from which inlined frames take their
// index in Delve's stack.
func (m *Map) Name(stack *unwind.Stack) {
	named := make(map[unwind.CodeAddr]naming)
	jumped := make(map[[2]unwind.CodeAddr][]call) // by a frame and the one before
	out := make([]unwind.Frame, 0, len(stack.Frames))
	var callee unwind.CodeAddr // of the frame before
	for first := 0; first < len(stack.Frames); {
		last := first
		for last+1 < len(stack.Frames) && stack.Frames[last].Inlined {
			last++
		}
		claimed, f := stack.Frames[first:last], stack.Frames[last]
		isTailCall := func(c unwind.Frame) bool { return c.TailCall }
		if slices.ContainsFunc(claimed, isTailCall) {
			claimed = slices.DeleteFunc(slices.Clone(claimed), isTailCall)
		}
		first = last + 1
		n, ok := named[f.PC]
		if !ok {
			n = m.naming(m.lookup(f.PC), f.PC.Raw())
			named[f.PC] = n
		}
		tails, ok := jumped[[2]unwind.CodeAddr{callee, f.PC}]
		if !ok {
			tails = m.tailCalls(callee, &f, &n)
			jumped[[2]unwind.CodeAddr{callee, f.PC}] = tails
		}
		for _, c := range tails {
			row := n.without(&f)
			row.TailCall = true
			c.words(&row)
			out = append(out, row)
		}
		out = append(n.name(out, claimed, f), n.physical(f))
		callee = f.PC
	}
	stack.Frames = slices.Clip(out)
	m.group(stack.Frames)
}

// tailCalls returns the functions between a frame and the one before, which that has
// replaced by jumps.
func (m *Map) tailCalls(callee unwind.CodeAddr, f *unwind.Frame, n *naming) (out []call) {
	if callee.Raw() == 0 || f.PC.Kind() != unwind.KindReturn || !n.whole {
		return nil
	}
	at := m.lookup(callee)
	if img, ok := m.at(uint64(at)); !ok || img != n.image {
		return nil
	}
	for _, c := range n.image.file.TailCalls(f.PC.Raw()-n.image.bias, uint64(at)-n.image.bias) {
		out = append(out, call{c.Function, c.File, c.Line, c.Column})
	}
	return out
}

// without returns a frame that lies in a physical one, without words.
func (n *naming) without(f *unwind.Frame) unwind.Frame {
	in := *f
	n.place(&in)
	in.Inlined, in.Rule, in.Rejected, in.Notes, in.DelveFrame = true, "", nil, nil, -1
	return in
}

// lookup returns the address by which code is named (R9).
func (m *Map) lookup(pc unwind.CodeAddr) unwind.LookupAddr {
	if callsite.IsSignalReturn(m.arch, m.Bytes(pc.Raw(), callsite.SignalReturnSize)) {
		return unwind.LookupAddr(pc.Raw())
	}
	return pc.Lookup(m.arch)
}

// naming has the names of one lookup address.
type naming struct {
	image   *image
	call    call   // of the physical frame
	inlined []call // innermost first
	whole   bool   // the chain is complete, and Delve has no better one
}

type call struct {
	function, file string
	line, column   int
}

// words sets a frame's words.
func (c *call) words(f *unwind.Frame) {
	f.Function, f.File, f.Line, f.Column = c.function, c.file, c.line, c.column
}

// place sets the image that a frame lies in.
func (n *naming) place(f *unwind.Frame) {
	if n.image != nil {
		f.Image, f.Offset = n.image.Path, f.PC.Raw()-n.image.start()
	}
}

// keeps reports whether a frame keeps the function that it has.
func (n *naming) keeps(f *unwind.Frame) bool { return f.Function != "" && !n.whole }

// physical returns a frame with its names.
func (n *naming) physical(f unwind.Frame) unwind.Frame {
	n.place(&f)
	if !n.keeps(&f) && !f.Inlined {
		n.call.words(&f)
	}
	return f
}

// name appends the inlined frames that lie in a frame. claimed are those of Delve.
func (n *naming) name(out []unwind.Frame, claimed []unwind.Frame, f unwind.Frame) []unwind.Frame {
	if f.Inlined || n.keeps(&f) || !n.whole && len(claimed) > 0 {
		for _, in := range claimed {
			n.place(&in)
			out = append(out, in)
		}
		return out
	}
	for _, c := range n.inlined {
		in := n.without(&f)
		c.words(&in)
		if i := slices.IndexFunc(claimed, func(d unwind.Frame) bool { return d.Line == c.line && d.File == c.file }); i >= 0 {
			in.DelveFrame = claimed[i].DelveFrame
			claimed = claimed[i+1:]
		}
		out = append(out, in)
	}
	return out
}

// naming looks an address up for a frame whose PC is pc.
func (m *Map) naming(at unwind.LookupAddr, pc uint64) (n naming) {
	img, ok := m.at(uint64(at))
	if !ok || img.generated && img.file == nil {
		n.call = m.generated.call(uint64(at))
		return n
	}
	if !img.generated {
		n.image = img
	}
	if img.file == nil {
		return n
	}
	vaddr := uint64(at) - img.bias
	calls := img.file.Calls(vaddr)
	n.whole = len(calls) > 0 && calls[0].Described && (!img.file.IsGo(vaddr) || !img.file.HasDWARF())
	for i, c := range calls {
		one := call{c.Name(pc - img.bias), c.File, c.Line, c.Column}
		if img.generated { // the process may say anything
			one.function, one.file = clip(one.function), clip(one.file)
		}
		if i+1 == len(calls) {
			n.call = one
		} else {
			n.inlined = append(n.inlined, one)
		}
	}
	return n
}

// clip bounds a name.
func clip(name string) string {
	const most = 4096 // bytes
	return name[:min(len(name), most)]
}
