package sframe

import (
	"fmt"

	"github.com/clewdbg/clew/internal/unwind/tablewalk"
	"github.com/clewdbg/clew/sframe"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
)

// Version is the strategy's version, raised when its answers change.
const Version = "1.0"

// sectionSegment is for images without section headers: the loadable segment
// from the place that the program header PT_GNU_SFRAME names on.
const sectionSegment = "segment:0x6474e554"

// sectionTyped is the section of SFrame's type, whatever its name.
const sectionTyped = "section-type:0x6ffffff4"

// New returns an unwinder that knows no images and yields to no one.
func New() *tablewalk.Unwinder {
	return tablewalk.New(tablewalk.Strategy{
		Description: unwind.Description{
			Name:     unwind.StrategySFrame,
			Version:  Version,
			Arches:   []unwind.Arch{unwind.AMD64, unwind.ARM64, unwind.S390X},
			Trust:    unwind.TrustCFI,
			Sections: sections,
		},
		Rules: "SFrame rules",
		Open:  open,
	})
}

// tables are an image's tables.
type tables struct{ *sframe.Table }

// open reads an image's section.
func open(arch unwind.Arch, in *unwind.Image) (tablewalk.Tables, tablewalk.Problems) {
	opts := sframe.Options{Arch: arch, Code: unwind.NewRangeSet(in.Executable...)}
	var section sframe.Section
	var problems tablewalk.Problems
	for _, s := range in.Sections {
		named := sframe.Section{Name: s.Name, Addr: s.Addr, Data: s.Data}
		switch {
		case len(s.Data) == 0:
		case s.Addr == 0: // nothing in it has an address
			if s.Name == sframe.SectionName {
				problems = append(problems, sframe.SectionName+": it is not loaded, so that functions have no addresses")
			}
		case s.Name == sframe.SectionName:
			section, opts.OpenEnded = named, false
		case s.Name == sectionTyped && section.Data == nil:
			section = named
			section.Name = "SHT_GNU_SFRAME"
		case s.Name == sectionSegment && section.Data == nil:
			section, opts.OpenEnded = named, true
			section.Name = "PT_GNU_SFRAME"
		default:
			opts.AddPLT(named)
		}
	}
	if section.Data == nil && problems == nil {
		return nil, nil
	}
	table := sframe.New(section, opts)
	first, count := table.Problems()
	tablewalk.Add(&problems, section.Name, first, count)
	return tables{table}, problems
}

// Coverage implements [tablewalk.Tables].
func (t tables) Coverage() unwind.RangeSet { return t.Ranges() }

// Signal implements [tablewalk.Tables].
func (t tables) Signal(addr uint64) bool {
	f, ok := t.Find(addr)
	return ok && f.Signal
}

// noteCorrected goes with a step out of .plt.got.
const noteCorrected = "the table's rule for .plt.got is one word off, as linkers write it; the code shows the right one"

// Rule implements [tablewalk.Tables].
func (t tables) Rule(addr uint64, kind unwind.PCKind) (*tablewalk.Rule, error) {
	row, answer := t.Lookup(addr)
	switch answer {
	case sframe.Hole:
		return nil, nil
	case sframe.Doubtful:
		return nil, fmt.Errorf("the rule for code at %#x may be wrong: two rows in a row are the same, as binutils up to 2.44 writes them where it drops a directive that it cannot express", addr)
	case sframe.SignalWithoutRule:
		return nil, fmt.Errorf("the frame at %#x is a signal's, and SFrame has no rule for it", addr)
	}
	found := &tablewalk.Rule{Rule: row.Rule()}
	if found.RA.From == rule.Same && kind == unwind.KindReturn && !found.Signal {
		return nil, fmt.Errorf("the return address needs %s, which is not known in a frame that has called (R10)", found.Arch.RegisterName(found.Arch.LR()))
	}
	if row.Corrected {
		found.Note = noteCorrected
	}
	return found, nil
}
