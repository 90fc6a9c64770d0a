package compactunwind

import (
	"fmt"
	"slices"

	"github.com/clewdbg/clew/internal/unwind/inspect"
	"github.com/clewdbg/clew/plugins/compactunwind/table"
	"github.com/clewdbg/clew/unwind"
)

// Inspection shows the tables of a file: a row for each entry of the pages, which
// is a run of functions with one encoding.
var Inspection = inspect.Format{Name: unwind.StrategyCompact, Sections: sections, Tables: sections, Open: openInspection}

// maxShown bounds the problems with encodings that are listed one by one.
const maxShown = 16

func openInspection(in *inspect.Image) *inspect.Tables {
	if !slices.Contains(arches, in.Arch) {
		return nil
	}
	opened, problems := open(in.Arch, &in.Image)
	if opened == nil {
		if len(problems) == 0 {
			return nil
		}
		return &inspect.Tables{Problems: problems, Rows: func(func(inspect.Row) bool) {}}
	}
	im := opened.(*image)
	out := &inspect.Tables{Version: "1", Problems: problems, Rows: im.rows}
	var covered []unwind.Range
	wrong := 0
	for e := range im.table.All() {
		r, err := im.decode(e)
		switch {
		case err != nil:
			if wrong++; wrong <= maxShown {
				out.Problems = append(out.Problems, fmt.Sprintf("at %#x: %v", im.base+uint64(e.Start), err))
			}
		case r.Kind != table.Null:
			out.Functions += im.functions(e)
			covered = append(covered, unwind.Range{Start: im.base + uint64(e.Start), End: im.base + uint64(e.End)})
		}
	}
	if wrong > maxShown {
		out.Problems = append(out.Problems, fmt.Sprintf("%d more encodings cannot be used", wrong-maxShown))
	}
	out.Coverage = unwind.NewRangeSet(covered...)
	return out
}

// functions is the number of functions of an entry: those that start in it, or
// one if that is unknown.
func (im *image) functions(e table.Entry) int {
	low, _ := slices.BinarySearch(im.starts, e.Start)
	high, _ := slices.BinarySearch(im.starts, e.End)
	return max(high-low, 1)
}

// rows yields a row for each entry.
func (im *image) rows(yield func(inspect.Row) bool) {
	for e := range im.table.All() {
		if !yield(im.shown(e)) {
			return
		}
	}
}

// shown is the printed form of an entry.
func (im *image) shown(e table.Entry) inspect.Row {
	out := inspect.Row{
		Start: im.base + uint64(e.Start), End: im.base + uint64(e.End), Encoding: fmt.Sprintf("0x%08x", uint32(e.Encoding)),
	}
	r, err := im.decode(e)
	switch {
	case err != nil:
		return out
	case r.Kind == table.Null:
		out.Flags = []string{inspect.Null}
		return out
	case r.Kind == table.DWARF:
		out.Delegate = unwind.StrategyDWARF
		return out
	}
	out.Equations = r.Equations()
	if r.Signed {
		out.Flags = append(out.Flags, inspect.Mangled)
	}
	if r.InLR {
		out.Flags = append(out.Flags, inspect.TopFrameOnly)
	}
	return out
}
