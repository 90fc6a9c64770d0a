package dwarfcfi

import (
	"cmp"
	"iter"
	"slices"

	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/internal/unwind/inspect"
	"github.com/clewdbg/clew/unwind"
)

// Inspection shows call-frame information: all of .eh_frame, and the rest of
// .debug_frame.
var Inspection = inspect.Format{
	Name:     unwind.StrategyDWARF,
	Sections: sections,
	Tables:   sections,
	Open:     openInspection,
}

func openInspection(image *inspect.Image) *inspect.Tables {
	if !slices.Contains(arches, image.Arch) {
		return nil
	}
	ts, problems := openOrder(image.Arch, image.Order, &image.Image)
	if len(ts) == 0 && len(problems) == 0 {
		return nil
	}
	functions := 0
	for f := range ts.pieces() {
		if f.first {
			functions++
		}
	}
	return &inspect.Tables{Functions: functions, Coverage: ts.Coverage(), Problems: problems, Rows: ts.rows}
}

// piece is a range of code and the FDE that counts there.
type piece struct {
	unwind.Range
	table *cfi.Table
	fde   cfi.FDE
	first bool // no other piece of the FDE came before
}

// pieces yields the code that the tables describe, by ascending address: a later
// table has only the code that is not in those before it.
func (ts tables) pieces() iter.Seq[piece] {
	return func(yield func(piece) bool) {
		var all []piece
		covered := unwind.RangeSet{}
		for _, t := range ts {
			seen := map[uint64]bool{} // FDEs, by offset
			for r, f := range t.Pieces() {
				for _, free := range covered.Gaps(r) {
					all = append(all, piece{free, t, f, !seen[f.Offset]})
					seen[f.Offset] = true
				}
			}
			covered = covered.Union(t.Ranges())
		}
		slices.SortFunc(all, func(a, b piece) int { return cmp.Compare(a.Start, b.Start) })
		for _, p := range all {
			if !yield(p) {
				return
			}
		}
	}
}

// rows yields the rows of every piece.
func (ts tables) rows(yield func(inspect.Row) bool) {
	for p := range ts.pieces() {
		more := true
		// The FDE was executed when the index was built: it is in order.
		_ = p.table.Rows(&p.fde, func(row *cfi.Row) bool {
			start, end := max(row.Start, p.Start), min(row.End, p.End)
			if start < end {
				more = yield(shown(row, start, end))
			}
			return more
		})
		if !more {
			return
		}
	}
}

// shown is the printed form of a row.
func shown(row *cfi.Row, start, end uint64) inspect.Row {
	made := row.Rule()
	out := inspect.Row{Start: start, End: end, Equations: made.Equations()}
	if row.RA.Kind == cfi.Undefined {
		out.Flags = append(out.Flags, inspect.Outermost)
	}
	if row.Signal {
		out.Flags = append(out.Flags, inspect.Signal)
	}
	if row.Mangled {
		out.Flags = append(out.Flags, inspect.Mangled)
	}
	return out
}
