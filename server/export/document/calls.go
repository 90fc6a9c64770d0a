package document

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/export"
	"github.com/clewdbg/clew/unwind"
)

// Call is a function that a frame's instruction belongs to, and the source line
// there.
type Call struct {
	Function string // "" if unknown
	File     string // "" if unknown
	Line     int    // 0 if unknown
	Column   int    // 0 if unknown
	TailCall bool   // it jumped to the function of the frame before, and has no frame
}

// calls returns the functions of the frame with an index, none where no more names may be written.
func (d *Document) calls(i int) []Call {
	if i < len(d.Calls) && (d.names == nil || d.names.left > 0) {
		return d.Calls[i]
	}
	return nil
}

// Symbols knows functions of images.
type Symbols interface {
	// Calls returns the functions that the instruction at an address of an image
	// belongs to, the innermost inlined one first; nothing where it does not know.
	// pc is the frame's own address, at the one that is looked up.
	Calls(img *imagemap.Image, pc uint64, at unwind.LookupAddr) []Call
	// TailCalls returns the functions that jumped on, where the call that returns to ret
	// led to the function with the instruction at callee, the last one first.
	TailCalls(img *imagemap.Image, ret uint64, callee unwind.LookupAddr) []Call
}

// AddCalls gives every frame its functions. Frames that from does not know keep those
// that they have.
func (d *Document) AddCalls(from Symbols) {
	if d.Images == nil {
		return
	}
	known := make(map[cbf.Frame][]Call)
	for len(d.Calls) < len(d.Frames) {
		d.Calls = append(d.Calls, nil)
	}
	for i, f := range d.Frames {
		calls, ok := known[f]
		if !ok && f.Kind.HasAddress() {
			at := codeAddr(f).Lookup(d.arch())
			if img, found := d.Images.Lookup(uint64(at)); found {
				calls = from.Calls(&img, f.Address, at)
			}
			known[f] = calls
		}
		if len(calls) > 0 {
			d.Calls[i] = append(d.tailCalls(i, from), calls...)
		}
	}
}

// tailCalls returns the functions between a frame and the one before, of the same image.
func (d *Document) tailCalls(i int, from Symbols) []Call {
	if i == 0 || d.Frames[i].Kind != cbf.RA || !d.Frames[i-1].Kind.HasAddress() {
		return nil
	}
	callee := codeAddr(d.Frames[i-1]).Lookup(d.arch())
	of, ok := d.Images.Lookup(uint64(callee))
	img, found := d.Images.Lookup(uint64(codeAddr(d.Frames[i]).Lookup(d.arch())))
	if !ok || !found || of.Base != img.Base {
		return nil
	}
	return slices.Clip(from.TailCalls(&img, d.Frames[i].Address, callee))
}

// codeAddr is a frame's address, with its kind.
func codeAddr(f cbf.Frame) unwind.CodeAddr {
	if f.Kind == cbf.RA {
		return unwind.Code(f.Address, unwind.KindReturn)
	}
	return unwind.Code(f.Address, unwind.KindInstruction)
}

// architectures have Swift's names.
var architectures = map[string]unwind.Arch{
	"x86_64": unwind.AMD64, "arm64": unwind.ARM64, "i386": unwind.I386, "arm": unwind.ARM,
}

// arch is the architecture, unknown where the document does not say it: a call then
// lies one byte before its return address.
func (d *Document) arch() unwind.Arch { return architectures[d.Architecture] }

// errArchitectures: one profile's addresses have one meaning.
var errArchitectures = errors.New("the documents are of several architectures; write a profile of each")

// maxCalls bounds the frames of a sample, with those of inlined calls: each takes some 1.2 KB until the sample is made.
const maxCalls = 1 << 19

// ErrDeep: a backtrace is too long for a sample.
var ErrDeep = fmt.Errorf("a backtrace has more than %d frames, too many for a sample of a profile", maxCalls)

// WritePprof writes the backtraces of documents as one profile, gzip-compressed, with
// what is known of their functions.
func WritePprof(w io.Writer, documents iter.Seq2[*Document, error]) error {
	return export.PprofOf(w, func(yield func(export.Profiled, error) bool) {
		var arch unwind.Arch
		first := true
		for d, err := range documents {
			var s export.Profiled
			switch {
			case err != nil:
			case d.imagesOnly():
				err = ErrNoBacktrace
			case !first && d.arch() != arch:
				err = errArchitectures
			case d.countCalls() > maxCalls:
				err = ErrDeep
			default:
				s = export.Profiled{Stack: d.stack(), Arch: d.arch(), Images: d.Images}
			}
			if !yield(s, err) || err != nil {
				return
			}
			first, arch = false, s.Arch
		}
	})
}

// countCalls is how many frames the stack has, with those of inlined calls.
func (d *Document) countCalls() (n int) {
	for i := range d.Frames {
		n += max(1, len(d.calls(i)))
	}
	return n
}

// stack is the document as an assembled stack.
func (d *Document) stack() unwind.Stack {
	s := unwind.Stack{Stop: unwind.End, Frames: make([]unwind.Frame, 0, len(d.Frames))}
	left := uint64(0)
	for i, f := range d.Frames {
		if f.Kind.HasAddress() {
			s.Frames = append(s.Frames, frames(f, d.calls(i))...)
		} else if f.Kind == cbf.Omitted {
			left += f.Count
		}
	}
	switch {
	case !d.Complete:
		s.Stop, s.Reason = unwind.Truncated, "the backtrace is not complete"
	case left > 0:
		s.Stop, s.Reason = unwind.Truncated, export.Count(left, "frame")+" left out"
	}
	return s
}

// frames are a physical frame, and those of the functions inlined there before it.
func frames(f cbf.Frame, calls []Call) []unwind.Frame {
	if len(calls) == 0 {
		return []unwind.Frame{{PC: codeAddr(f)}}
	}
	out := make([]unwind.Frame, len(calls))
	for i, c := range calls {
		out[i] = unwind.Frame{PC: codeAddr(f), Function: c.Function, File: c.File, Line: c.Line, Column: c.Column, Inlined: i+1 < len(calls), TailCall: c.TailCall}
	}
	return out
}
