package dwarfcfi

import (
	"fmt"
	"sort"
	"strings"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/cfi"
)

// image is the tables of one image.
type image struct {
	id   unwind.ImageID
	arch unwind.Arch
	// bounds are the first and the last address that it has rules for.
	bounds unwind.Range
	// tables has .eh_frame first: it was loaded with the program, so it is of this
	// very build.
	tables []*cfi.Table
}

// newImage indexes an image's sections, and says what they cover.
func newImage(arch unwind.Arch, in *unwind.Image) (*image, unwind.ImageReport) {
	im := &image{id: in.ID, arch: arch}
	report := unwind.ImageReport{ID: in.ID}
	if arch != unwind.AMD64 && arch != unwind.ARM64 {
		return im, report
	}
	var problems []string
	im.tables, problems = tablesOf(arch, in)
	for _, t := range im.tables {
		report.Coverage = report.Coverage.Union(t.Ranges())
		first, count := t.Problems()
		for _, err := range first {
			problems = append(problems, err.Error())
		}
		if count > len(first) {
			problems = append(problems, fmt.Sprintf("%d more in %s", count-len(first), t.Section().Name))
		}
	}
	if n := len(report.Coverage); n > 0 {
		im.bounds = unwind.Range{Start: report.Coverage[0].Start, End: report.Coverage[n-1].End}
	}
	report.Problem = strings.Join(problems, "; ")
	return im, report
}

// tablesOf makes the tables of the sections that there are.
func tablesOf(arch unwind.Arch, in *unwind.Image) (tables []*cfi.Table, problems []string) {
	section := func(name string) cfi.Section {
		for _, s := range in.Sections {
			if s.Name == name {
				return cfi.Section{Name: name, Addr: s.Addr, Data: s.Data}
			}
		}
		return cfi.Section{}
	}
	opts := cfi.Options{Arch: arch, Bias: in.Base, Code: unwind.NewRangeSet(in.Executable...)}
	eh, header := section(sectionEH), section(sectionHeader)
	if segment := section(sectionSegment); len(eh.Data) == 0 && len(segment.Data) > 0 {
		var err error
		if header, eh, err = cfi.SplitSegment(segment.Addr, segment.Data, arch, in.Base); err != nil {
			problems = append(problems, err.Error())
		}
		opts.OpenEnded = true
	}
	if len(eh.Data) > 0 {
		opts := opts
		opts.Header = header
		tables = append(tables, cfi.New(eh, opts))
	}
	if debug := section(sectionDebug); len(debug.Data) > 0 {
		debug.Kind = cfi.DebugFrame
		opts.OpenEnded = false
		tables = append(tables, cfi.New(debug, opts))
	}
	return tables, problems
}

// find gives the FDE that counts for an address.
func (im *image) find(addr uint64) (*cfi.Table, cfi.FDE, bool) {
	for _, t := range im.tables {
		if f, ok := t.Find(addr); ok {
			return t, f, true
		}
	}
	return nil, cfi.FDE{}, false
}

// state is what Update tells. It is not changed once it is made, but for its
// cache.
type state struct {
	pacMask uint64
	images  []*image // by the start of their bounds
	// reach is, for each image, the highest end of its bounds and those before.
	reach []uint64
	cache cache
}

func newState(pacMask uint64, images []*image) *state {
	s := &state{pacMask: pacMask, images: images, reach: make([]uint64, len(images))}
	sort.SliceStable(images, func(i, j int) bool { return images[i].bounds.Start < images[j].bounds.Start })
	var reach uint64
	for i, im := range images {
		reach = max(reach, im.bounds.End)
		s.reach[i] = reach
	}
	return s
}

// find gives the FDE that counts for an address. Images do not overlap as a
// rule; where they seem to, because one lies, the one that starts last counts.
func (s *state) find(arch unwind.Arch, addr uint64) (*cfi.Table, cfi.FDE, bool) {
	i := sort.Search(len(s.images), func(i int) bool { return s.images[i].bounds.Start > addr }) - 1
	for ; i >= 0 && s.reach[i] > addr; i-- {
		if im := s.images[i]; im.arch == arch && im.bounds.Contains(addr) {
			if t, f, ok := im.find(addr); ok {
				return t, f, true
			}
		}
	}
	return nil, cfi.FDE{}, false
}
