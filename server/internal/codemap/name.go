package codemap

import (
	"slices"

	"github.com/clewdbg/clew/internal/unwind/callsite"
	"github.com/clewdbg/clew/unwind"
)

// Name returns every frame its function, source line, image and offset, looked up
// at the caller address (R9); a signal's trampoline, which no call leads to and
// which begins right behind another function, at its first instruction. Frames that have a function already (Delve's own
// DWARF gave it) keep it. Go functions that were inlined come as frames of
// their own, with the trust of the frame that they lie in (R1), unless Delve
// brought them.
func (m *Map) Name(stack *unwind.Stack) {
	named := make(map[unwind.CodeAddr]naming)
	out := make([]unwind.Frame, 0, len(stack.Frames))
	for i, f := range stack.Frames {
		n, ok := named[f.PC]
		if !ok {
			at := f.PC.Lookup(m.arch)
			if callsite.IsSignalReturn(m.arch, m.Bytes(f.PC.Raw(), callsite.SignalReturnSize)) {
				at = unwind.LookupAddr(f.PC.Raw())
			}
			n = m.naming(at)
			named[f.PC] = n
		}
		if n.image != nil {
			f.Image, f.Offset = n.image.Path, f.PC.Raw()-n.image.place
		}
		claimed := f.Function != ""
		inlinesKnown := i > 0 && stack.Frames[i-1].Inlined
		if !claimed && !inlinesKnown && !f.Inlined {
			for _, c := range n.inlined {
				in := f
				in.Inlined, in.CFA, in.Rule, in.Rejected, in.Notes = true, f.CFA, "", nil, nil
				in.Function, in.File, in.Line = c.function, c.file, c.line
				out = append(out, in)
			}
		}
		if !claimed {
			f.Function, f.File, f.Line = n.own.function, n.own.file, n.own.line
		}
		out = append(out, f)
	}
	stack.Frames = slices.Clip(out)
}

// naming is what is known of one lookup address.
type naming struct {
	image   *image
	own     call
	inlined []call // innermost first
}

type call struct {
	function, file string
	line           int
}

func (m *Map) naming(at unwind.LookupAddr) (n naming) {
	img, ok := m.at(uint64(at))
	if !ok {
		return n
	}
	n.image = img
	if img.file == nil {
		return n
	}
	calls := img.file.Calls(uint64(at) - img.bias)
	for i, c := range calls {
		one := call{c.Function, c.File, c.Line}
		if i+1 == len(calls) {
			n.own = one
		} else {
			n.inlined = append(n.inlined, one)
		}
	}
	return n
}
