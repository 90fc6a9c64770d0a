package native

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/clewdbg/clew/server/internal/codemap"
	"github.com/clewdbg/clew/server/names"
	"github.com/clewdbg/clew/server/symbols/dwarfline"
	"github.com/clewdbg/clew/unwind"
)

// Place is where a breakpoint can be set.
type Place struct {
	Addr     uint64
	File     string
	Line     int // the one that has the code, which may come after the one that was asked for
	Function string
	Inlined  bool // the code is a copy of Function in another function
}

// maxPlaces bounds the places of one line.
const maxPlaces = 1 << 12

// Line returns where the code of a source line begins, by address: one place for each function and inlined copy. The file is
// named as an editor does, by its whole path, or by the last elements of it. A line without code stands for the next that
// has some: the places say which.
func (c *Code) Line(file string, line int) []Place {
	found, _ := c.line(file, line)
	return found
}

// lineIn is what an image has of a line.
type lineIn struct {
	image codemap.Bound
	line  int
	found []dwarfline.LineAddr
}

func (c *Code) line(file string, line int) (found []Place, more bool) {
	file = strings.ReplaceAll(file, `\`, "/")
	if path.Clean(file) == "." || line <= 0 {
		return nil, false
	}
	var all []lineIn
	best := 0
	for img := range c.images.Files {
		named := func(path string) bool { return endsIn(path, file) || path != file && sourceOf(path, img.Path) == file }
		at, rows := img.File.NativeLine(path.Base(file), named, line)
		if len(rows) == 0 {
			continue
		}
		all = append(all, lineIn{img, at, rows})
		if best == 0 || at < best {
			best = at
		}
	}
	for _, in := range all {
		if in.line != best {
			continue
		}
		places := c.places(&in)
		if len(found)+len(places) > maxPlaces {
			return append(found, places[:maxPlaces-len(found)]...), true
		}
		found = append(found, places...)
	}
	slices.SortStableFunc(found, func(a, b Place) int { return cmp.Compare(a.Addr, b.Addr) })
	return found, false
}

// endsIn says whether a path is the one that is asked for, or ends in it by whole elements.
func endsIn(have, want string) bool {
	have, want = path.Clean(have), path.Clean(want)
	if have == want {
		return true
	}
	rest, ok := strings.CutSuffix(have, want)
	return ok && !strings.HasPrefix(want, "/") && strings.HasSuffix(rest, "/")
}

// places returns the first address of each function and inlined copy.
func (c *Code) places(in *lineIn) (found []Place) {
	type copyOf struct {
		id    dwarfline.ID
		entry uint64
	}
	seen := make(map[copyOf]bool)
	var last, inLast unwind.RangeSet // the code of the function before, and what is inlined there
	for _, row := range in.found {
		if len(found) > maxPlaces {
			break
		}
		if in.image.File.IsGo(row.Addr) || last.Contains(row.Addr) && !inLast.Contains(row.Addr) {
			continue
		}
		p := Place{Addr: row.Addr, File: sourceOf(row.File, in.image.Path), Line: in.line}
		key := copyOf{entry: row.Addr}
		if all := in.image.File.NativeAt(row.Addr); len(all) > 0 {
			fn := &all[0]
			last, inLast = unwind.NewRangeSet(fn.Ranges...), unwind.NewRangeSet(fn.Inner...)
			key = copyOf{fn.ID, fn.Entry}
			p.Function, p.Inlined = names.Short(fn.Name), fn.Inlined
			if body := c.body(in.image, fn); !fn.Inlined && p.Addr >= fn.Entry && p.Addr < body {
				p.Addr = body
			}
		}
		if !seen[key] {
			seen[key] = true
			p.Addr += in.image.Bias
			found = append(found, p)
		}
	}
	return found
}

// Row is a row of a line table.
type Row struct {
	File         string
	Line, Column int
	Statement    bool // a good place for a breakpoint
	Start, End   uint64
}

// Row returns the row that the instruction at addr belongs to: of several that begin at one address the last. It is a statement where one
// of these is, for another line too: compilers mark the first, and the rest tell views of the place apart (GNU as, ".loc": view).
func (c *Code) Row(addr uint64) (Row, bool) {
	img, ok := c.images.FileAt(addr)
	if !ok || img.File == nil {
		return Row{}, false
	}
	row, ok := rowAt(img, addr)
	row.File = sourceOf(row.File, img.Path)
	return row, ok
}

// rowAt is Row with the file as the table names it.
func rowAt(img codemap.Bound, addr uint64) (Row, bool) {
	rows := img.File.NativeRows(addr-img.Bias, addr-img.Bias+1)
	if len(rows) == 0 {
		return Row{}, false
	}
	last := rows[len(rows)-1]
	for i := range rows {
		last.Statement = last.Statement || rows[i].Statement && rows[i].Addr == last.Addr
	}
	return Row{last.File, last.Line, last.Column, last.Statement, last.Addr + img.Bias, last.End + img.Bias}, true
}

// LineRanges returns the code of the line that the instruction at addr belongs to, sorted: in its function, or in its
// inlined copy, without what is inlined there. It is empty where no line is known.
func (c *Code) LineRanges(addr uint64) (out []unwind.Range) {
	img, ok := c.images.FileAt(addr)
	if !ok || img.File == nil {
		return nil
	}
	vaddr := addr - img.Bias
	at, ok := rowAt(img, addr)
	in := img.File.NativeAt(vaddr)
	if !ok || len(in) == 0 {
		return nil
	}
	var all []unwind.Range
	for _, r := range unwind.NewRangeSet(in[0].Ranges...) {
		for _, row := range img.File.NativeRows(r.Start, r.End) {
			if row.Line == at.Line && row.File == at.File {
				all = append(all, unwind.Range{Start: max(row.Addr, r.Start), End: min(row.End, r.End)})
			}
		}
	}
	inner := unwind.NewRangeSet(in[0].Inner...)
	for _, r := range unwind.NewRangeSet(all...) {
		for _, own := range inner.Gaps(r) {
			out = append(out, unwind.Range{Start: own.Start + img.Bias, End: own.End + img.Bias})
		}
	}
	return out
}
