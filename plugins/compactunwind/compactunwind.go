package compactunwind

import (
	"encoding/binary"
	"fmt"
	"sort"

	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/internal/unwind/tablewalk"
	"github.com/clewdbg/clew/plugins/compactunwind/table"
	"github.com/clewdbg/clew/unwind"
)

// Version is the strategy's version, raised when its answers change.
const Version = "1.0"

// The sections that it asks for.
const (
	sectionInfo   = "__unwind_info"
	sectionEH     = "__eh_frame"
	sectionText   = "__text"
	sectionStubs  = "__stubs"
	sectionHelper = "__stub_helper"
	// commandStarts is the data of the load command LC_FUNCTION_STARTS.
	commandStarts = "command:0x26"
)

var (
	arches   = []unwind.Arch{unwind.AMD64, unwind.I386, unwind.ARM64}
	sections = []string{sectionInfo, sectionEH, sectionText, sectionStubs, sectionHelper, commandStarts}
)

// New returns an unwinder that knows no images and yields to no one.
func New() *tablewalk.Unwinder {
	return tablewalk.New(tablewalk.Strategy{
		Description: unwind.Description{
			Name:     unwind.StrategyCompact,
			Version:  Version,
			Arches:   arches,
			Trust:    unwind.TrustCFI,
			Sections: sections,
		},
		Rules: "compact unwind rules",
		Open:  open,
	})
}

// image holds one image's tables.
type image struct {
	arch   unwind.Arch
	base   uint64 // of the Mach-O header
	table  *table.Table
	text   unwind.Section
	starts []uint32   // of functions, from base; sorted
	eh     *cfi.Table // nil without __eh_frame
	stubs  unwind.Range
	helper unwind.Range
}

// open reads an image's sections.
func open(arch unwind.Arch, in *unwind.Image) (tablewalk.Tables, tablewalk.Problems) {
	info := in.Section(sectionInfo)
	if len(info.Data) == 0 {
		return nil, nil
	}
	var problems tablewalk.Problems
	t, err := table.Parse(info.Data)
	if err != nil {
		return nil, tablewalk.Problems{err.Error()}
	}
	for _, err := range t.Problems() {
		problems = append(problems, err.Error())
	}
	im := &image{arch: arch, base: in.Base, table: t, text: in.Section(sectionText)}
	im.stubs, im.helper = extent(in.Section(sectionStubs)), extent(in.Section(sectionHelper))
	if im.starts, err = functionStarts(in.Section(commandStarts).Data); err != nil {
		problems = append(problems, err.Error())
	}
	if eh := in.Section(sectionEH); len(eh.Data) > 0 {
		im.eh = cfi.New(cfi.Section{Name: eh.Name, Addr: eh.Addr, Data: eh.Data},
			cfi.Options{Arch: arch, Bias: in.Base, Code: unwind.NewRangeSet(in.Executable...)})
		first, count := im.eh.Problems()
		tablewalk.Add(&problems, sectionEH, first, count)
	}
	return im, problems
}

// extent is the range of a section.
func extent(s unwind.Section) unwind.Range {
	return unwind.Range{Start: s.Addr, End: s.Addr + uint64(len(s.Data))}
}

// Coverage implements [tablewalk.Tables]: the code that has an encoding, with
// that which has the null one, whose innermost frames can be simulated; and the
// stubs.
func (im *image) Coverage() unwind.RangeSet {
	var ranges []unwind.Range
	for e := range im.table.All() {
		r := unwind.Range{Start: im.base + uint64(e.Start), End: im.base + uint64(e.End)}
		if n := len(ranges); n > 0 && ranges[n-1].End == r.Start {
			ranges[n-1].End = r.End
		} else if r.Start < r.End {
			ranges = append(ranges, r)
		}
	}
	for _, r := range []unwind.Range{im.stubs, im.helper} {
		if r.Start < r.End {
			ranges = append(ranges, r)
		}
	}
	return unwind.NewRangeSet(ranges...)
}

// Signal implements [tablewalk.Tables]. Signal trampolines have no encoding.
func (im *image) Signal(uint64) bool { return false }

// code returns original bytes of __text from an address on.
func (im *image) code(addr uint64, n int) []byte {
	if addr < im.text.Addr || addr-im.text.Addr >= uint64(len(im.text.Data)) {
		return nil
	}
	data := im.text.Data[addr-im.text.Addr:]
	return data[:min(n, len(data))]
}

// function returns the bounds of the function at an address, from the image's list
// of functions.
func (im *image) function(addr uint64) (unwind.Range, bool) {
	if addr < im.base || addr-im.base > 1<<32-1 {
		return unwind.Range{}, false
	}
	off := uint32(addr - im.base)
	i := sort.Search(len(im.starts), func(i int) bool { return im.starts[i] > off })
	if i == 0 {
		return unwind.Range{}, false
	}
	end := im.text.Addr + uint64(len(im.text.Data))
	if i < len(im.starts) {
		end = im.base + uint64(im.starts[i])
	}
	return unwind.Range{Start: im.base + uint64(im.starts[i-1]), End: end}, addr < end
}

// functionStarts decodes the data of LC_FUNCTION_STARTS: the distance of each
// function from the one before, the first from the Mach-O header, in ULEB128;
// ended by a zero. (The lowest bit marks Thumb code on 32-bit Arm, which is not
// supported.)
func functionStarts(data []byte) (starts []uint32, err error) {
	var at uint64
	for i := 0; i < len(data); {
		delta, n := binary.Uvarint(data[i:])
		switch {
		case n <= 0 || n > binary.MaxVarintLen32:
			return starts, fmt.Errorf("LC_FUNCTION_STARTS: a distance at offset %d does not end", i)
		case delta == 0:
			return starts, nil
		}
		if at += delta; at > 1<<32-1 {
			return starts, fmt.Errorf("LC_FUNCTION_STARTS: the function at offset %d lies %#x beyond the header", i, at)
		}
		starts = append(starts, uint32(at))
		i += n
	}
	return starts, nil
}
