package crashreport

import (
	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/server/export/document"
	"github.com/clewdbg/clew/unwind"
)

// Symbolize names the frames by files that have the images' build IDs. A frame that they do not name keeps what it has.
func (r *Report) Symbolize(from document.Symbols) error {
	images, err := r.ImageMap()
	if err != nil {
		return err
	}
	arch, moved := r.arch(), r.Crash.Frame
	for i := range r.Stacks {
		s := &r.Stacks[i]
		var out []stackjson.Frame
		var callee unwind.LookupAddr // in the frame before
		for at := 0; at < len(s.Frames); {
			physical := at // the frame with its own place on the stack: inlined ones come before it
			for physical < len(s.Frames)-1 && s.Frames[physical].Inlined {
				physical++
			}
			group, f := s.Frames[at:physical+1], s.Frames[physical]
			kind := unwind.KindReturn
			if f.Kind == stackjson.KindPC {
				kind = unwind.KindInstruction
			}
			lookup := unwind.Code(uint64(f.PC), kind).Lookup(arch)
			if img, ok := images.Lookup(uint64(lookup)); ok {
				calls := from.Calls(&img, uint64(f.PC), lookup)
				if before, same := images.Lookup(uint64(callee)); same && before.Base == img.Base && kind == unwind.KindReturn && len(calls) > 0 {
					calls = append(from.TailCalls(&img, uint64(f.PC), callee), calls...)
				}
				if len(calls) > 0 {
					group = named(&f, calls)
				}
			}
			if c := r.Crash.Frame; i == 0 && c != nil && *c >= at && *c <= physical {
				n := len(out)
				moved = &n
			}
			out, callee, at = append(out, group...), lookup, physical+1
		}
		for n := range out {
			out[n].Index = n
		}
		s.Frames = out
	}
	r.Crash.Frame = moved
	return nil
}

// named are the rows of a frame by its functions, the innermost inlined one first.
func named(f *stackjson.Frame, calls []document.Call) []stackjson.Frame {
	out := make([]stackjson.Frame, len(calls))
	for i, c := range calls {
		row := *f
		row.Function, row.File, row.Line, row.Column, row.TailCall = c.Function, c.File, c.Line, c.Column, c.TailCall
		row.Inlined = i < len(calls)-1
		if row.Inlined {
			row.Notes, row.Rejected = nil, nil
		}
		out[i] = row
	}
	return out
}
