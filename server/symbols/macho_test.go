package symbols

import (
	"slices"
	"testing"

	"github.com/clewdbg/clew/imagemap/macho"
)

// TestMachOLeavesOut: debugging information may be longer than other sections, but not all of it together.
func TestMachOLeavesOut(t *testing.T) {
	section := func(name, segment string, mib uint64) macho.Section {
		return macho.Section{Name: name, Segment: segment, Size: mib << 20, Offset: 4096}
	}
	info, line := section("__debug_info", macho.DWARFSegment, 3000), section("__debug_line", macho.DWARFSegment, 1000)
	for name, c := range map[string]struct {
		sections []macho.Section
		want     []string // that are left out
		debug    bool     // debugging information is read
	}{
		"of a large program": {[]macho.Section{section("__text", "__TEXT", 200), info, line}, nil, true},
		"too long":           {[]macho.Section{section("__eh_frame", "__TEXT", 257), info}, []string{"__eh_frame"}, true},
		"too much together":  {[]macho.Section{info, line, section("__debug_str", macho.DWARFSegment, 100)}, []string{macho.DWARFSegment}, false},
		"without contents":   {[]macho.Section{{Name: "__bss", Segment: "__DATA", Size: 1 << 40}}, nil, false},
	} {
		f := &machoFile{File: &macho.File{Sections: c.sections}}
		var got []string
		if left := f.leaveOut(); left != nil {
			got = left.Sections
		}
		if !slices.Equal(got, c.want) || f.hasDWARF() != c.debug {
			t.Errorf("%s: %v left out, DWARF %v", name, got, f.hasDWARF())
		}
	}
}
