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
// Frames of Go code that have a function already keep it and the inlined frames
// before it: Delve has them from the same tables. Of other code the
// resolver's chain counts where it has one; what Delve says of it is a claim, from
// which inlined frames take their index in Delve's stack.
func (m *Map) Name(stack *unwind.Stack) {
	named := make(map[unwind.CodeAddr]naming)
	out := make([]unwind.Frame, 0, len(stack.Frames))
	for first := 0; first < len(stack.Frames); {
		last := first
		for last+1 < len(stack.Frames) && stack.Frames[last].Inlined {
			last++
		}
		claimed, f := stack.Frames[first:last], stack.Frames[last]
		first = last + 1
		n, ok := named[f.PC]
		if !ok {
			n = m.naming(m.lookup(f.PC), f.PC.Raw())
			named[f.PC] = n
		}
		out = append(n.name(out, claimed, f), n.physical(f))
	}
	stack.Frames = slices.Clip(out)
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
	native  bool   // the chain is complete, and of code that is not Go's
}

type call struct {
	function, file string
	line           int
}

// place sets the image that a frame lies in.
func (n *naming) place(f *unwind.Frame) {
	if n.image != nil {
		f.Image, f.Offset = n.image.Path, f.PC.Raw()-n.image.start()
	}
}

// keeps reports whether a frame keeps the function that it has.
func (n *naming) keeps(f *unwind.Frame) bool { return f.Function != "" && !n.native }

// physical returns a frame with its names.
func (n *naming) physical(f unwind.Frame) unwind.Frame {
	n.place(&f)
	if !n.keeps(&f) && !f.Inlined {
		f.Function, f.File, f.Line = n.call.function, n.call.file, n.call.line
	}
	return f
}

// name appends the inlined frames that lie in a frame. claimed are those of Delve.
func (n *naming) name(out []unwind.Frame, claimed []unwind.Frame, f unwind.Frame) []unwind.Frame {
	if f.Inlined || n.keeps(&f) || !n.native && len(claimed) > 0 {
		for _, in := range claimed {
			n.place(&in)
			out = append(out, in)
		}
		return out
	}
	n.place(&f)
	for _, c := range n.inlined {
		in := f
		in.Inlined, in.Rule, in.Rejected, in.Notes, in.DelveFrame = true, "", nil, nil, -1
		in.Function, in.File, in.Line = c.function, c.file, c.line
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
	if !ok {
		if s, ok := m.generated.Find(uint64(at)); ok {
			n.call.function = s.Name
		}
		return n
	}
	n.image = img
	if img.file == nil {
		return n
	}
	vaddr := uint64(at) - img.bias
	calls := img.file.Calls(vaddr)
	n.native = len(calls) > 0 && calls[0].Described && !img.file.IsGo(vaddr)
	for i, c := range calls {
		one := call{c.Name(pc - img.bias), c.File, c.Line}
		if i+1 == len(calls) {
			n.call = one
		} else {
			n.inlined = append(n.inlined, one)
		}
	}
	return n
}
