package document

import (
	"bufio"
	"cmp"
	"fmt"
	"io"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/internal/printable"
	"github.com/clewdbg/clew/server/export"
)

// WriteText writes the document for people to read. Frames that repeat take one
// line; where there are images, a frame says which one it is in. Nothing is
// written of a document of which nothing could be read.
func (d *Document) WriteText(w io.Writer) error {
	if d.WordSize == 0 {
		return nil
	}
	b := bufio.NewWriterSize(w, 1<<16)
	if d.Format != ImageMap {
		d.writeBacktrace(b)
	}
	if d.Images != nil {
		if d.Format != ImageMap {
			fmt.Fprintln(b)
		}
		d.writeImages(b)
	}
	return b.Flush()
}

func (d *Document) digits() int { return int(d.WordSize) / 4 }

func (d *Document) writeBacktrace(b *bufio.Writer) {
	fmt.Fprint(b, "backtrace")
	if d.Architecture != "" {
		fmt.Fprintf(b, ", %s", printable.Text(d.Architecture))
	}
	n := len(d.Frames)
	if n > 0 && d.Frames[n-1].Kind == cbf.Truncated {
		n--
	}
	fmt.Fprintf(b, ", %d-bit, %s\n", d.WordSize, export.Count(n, "frame"))
	widest := len(fmt.Sprint(n))
	for i := 0; i < n; {
		f := d.Frames[i]
		last := i
		for last+1 < n && d.Frames[last+1] == f {
			last++
		}
		index := fmt.Sprint(i)
		if last > i {
			index = fmt.Sprintf("%d-%d", i, last)
		}
		d.writeInlined(b, 2*widest+3, i)
		fmt.Fprintf(b, "%*s  ", 2*widest+3, index)
		if f.Kind.HasAddress() {
			fmt.Fprintf(b, "%-5s  0x%0*x%s%s\n", f.Kind, d.digits(), f.Address, d.place(f), d.function(i))
		} else {
			fmt.Fprintf(b, "(%s left out)\n", export.Count(f.Count, "frame"))
		}
		i = last + 1
	}
	switch {
	case d.Complete:
		fmt.Fprintln(b, "  end")
	case n < len(d.Frames):
		fmt.Fprintln(b, "  truncated")
	default:
		fmt.Fprintln(b, "  unreadable from here on")
	}
	if d.Trailing > 0 {
		fmt.Fprintf(b, "  note: %s after the end belong to no backtrace\n", export.Count(d.Trailing, "byte"))
	}
}

// writeInlined writes a line for each function that is inlined in the frame with
// index i.
func (d *Document) writeInlined(b *bufio.Writer, width, i int) {
	calls := d.calls(i)
	for _, c := range calls[:max(0, len(calls)-1)] {
		how := "inlined"
		if c.TailCall {
			how = "tail call"
		}
		fmt.Fprintf(b, "%*s  %-5s  0x%0*x%s%s [%s]\n", width, "", "", d.digits(), d.Frames[i].Address, d.place(d.Frames[i]), d.text(c), how)
	}
}

// function is the physical function of the frame with index i, "" if unknown.
func (d *Document) function(i int) string {
	calls := d.calls(i)
	if len(calls) == 0 {
		return ""
	}
	return d.text(calls[len(calls)-1])
}

// text is a function and its place, behind two spaces.
func (d *Document) text(c Call) string {
	name := "?"
	if c.Function != "" {
		name = printable.Text(d.Names.Show(d.shown(c.Function)))
	}
	out := "  " + name
	if c.File != "" {
		out += fmt.Sprintf("  %s:%d", printable.Text(d.shown(c.File)), c.Line)
	}
	return out
}

// place says which image an address is in. The call that a return address
// belongs to lies before it, possibly at the very end of its image (R9).
func (d *Document) place(f cbf.Frame) string {
	if d.Images == nil {
		return ""
	}
	lookup := f.Address
	if f.Kind == cbf.RA && lookup > 0 {
		lookup--
	}
	img, ok := d.Images.Lookup(lookup)
	if !ok {
		return "  ?"
	}
	name := cmp.Or(printable.Text(d.shown(img.Name)), fmt.Sprintf("image at %#x ", img.Base))
	return fmt.Sprintf("  %s+%#x", name, f.Address-img.Base)
}

func (d *Document) writeImages(b *bufio.Writer) {
	m := d.Images
	fmt.Fprintf(b, "image map, %d-bit, %s", d.WordSize, export.Count(m.Len(), "image"))
	if m.Platform() != "" {
		fmt.Fprintf(b, ", %s", printable.Text(m.Platform()))
	}
	fmt.Fprintln(b)
	widest := 0
	for _, img := range m.All() {
		widest = max(widest, min(2*len(img.BuildID), 64))
	}
	for _, img := range m.All() {
		path, id := cmp.Or(printable.Text(d.shown(img.Path)), "(no path)"), cmp.Or(fmt.Sprintf("%x", img.BuildID), "-")
		fmt.Fprintf(b, "  0x%0*x-0x%0*x  %-*s  %s\n", d.digits(), img.Base, d.digits(), img.EndOfText, widest, id, path)
	}
	if d.Format == ImageMap && d.Err != nil {
		fmt.Fprintln(b, "  not all of it could be read")
	}
}
