package dwarfcfi

import (
	"github.com/clewdbg/clew/internal/unwind/tablewalk"
	"github.com/clewdbg/clew/unwind"
)

// Version is the strategy's version, raised when its answers change.
const Version = "1.0"

// The sections that it asks for.
const (
	sectionEH     = ".eh_frame"
	sectionHeader = ".eh_frame_hdr"
	sectionDebug  = ".debug_frame"
	// sectionMachO is the section of Mach-O images.
	sectionMachO = "__eh_frame"
	// sectionSegment is for images without section headers: the loadable segment
	// from the place that the program header PT_GNU_EH_FRAME names on.
	sectionSegment = "segment:0x6474e550"
	// sectionBefore is that segment up to there: .eh_frame may come first.
	sectionBefore = "segment-before:0x6474e550"
)

var arches = []unwind.Arch{unwind.AMD64, unwind.ARM64}

var sections = []string{sectionEH, sectionHeader, sectionDebug, sectionMachO, sectionSegment, sectionBefore}

// New returns an unwinder that knows no images and yields to no one.
func New() *tablewalk.Unwinder {
	return tablewalk.New(tablewalk.Strategy{
		Description: unwind.Description{
			Name:     unwind.StrategyDWARF,
			Version:  Version,
			Arches:   arches,
			Trust:    unwind.TrustCFI,
			Sections: sections,
			// For tables that are right at calls only, see settle.
			WantsCode: true,
		},
		Rules: "DWARF rules",
		Open:  open,
	})
}
