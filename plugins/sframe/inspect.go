package sframe

import (
	"slices"
	"strings"

	"github.com/clewdbg/clew/internal/unwind/inspect"
	"github.com/clewdbg/clew/sframe"
	"github.com/clewdbg/clew/unwind"
)

// sections are those that the tables are read from.
var sections = append(slices.Clone(tableSections), sframe.SectionPLTGot, sframe.SectionPLT, sframe.SectionPLTSec)

// tableSections hold tables; the others are read along with one.
var tableSections = []string{sframe.SectionName, sectionTyped, sectionSegment}

// Inspection shows the tables of a file.
var Inspection = inspect.Format{Name: unwind.StrategySFrame, Sections: sections, Tables: tableSections, Open: openInspection}

func openInspection(image *inspect.Image) *inspect.Tables {
	opened, problems := open(image.Arch, &image.Image)
	if opened == nil {
		return nil
	}
	t := opened.(tables)
	var versions []string
	for _, h := range t.Headers() {
		if v := h.Generation(); !slices.Contains(versions, v) {
			versions = append(versions, v)
		}
	}
	return &inspect.Tables{Version: strings.Join(versions, ", "), Functions: t.Len(), Coverage: t.Coverage(), Problems: problems, Rows: t.shown}
}

// shown yields all rows.
func (t tables) shown(yield func(inspect.Row) bool) {
	for row, answer := range t.AllRows() {
		if !yield(shownRow(row, answer)) {
			return
		}
	}
}

func shownRow(row *sframe.Row, answer sframe.Answer) inspect.Row {
	out := inspect.Row{Start: row.Start, End: row.End}
	null := answer == sframe.SignalWithoutRule || answer == sframe.Doubtful
	if !null {
		made := row.Rule()
		out.Equations = made.Equations()
	}
	for _, f := range []struct {
		set  bool
		name string
	}{
		{answer == sframe.Outermost, inspect.Outermost}, {row.Signal, inspect.Signal}, {row.Mangled, inspect.Mangled},
		{row.TopOnly, inspect.TopFrameOnly}, {row.Corrected, inspect.Corrected}, {null, inspect.Null},
	} {
		if f.set {
			out.Flags = append(out.Flags, f.name)
		}
	}
	return out
}
