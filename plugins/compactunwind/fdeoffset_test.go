package compactunwind

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// TestFDEOffset: whether an encoding says where its FDE is, says nothing (as in
// images whose __eh_frame has more than 16 MiB), or names another function's, the
// rules behind every instruction are those of the FDE that has the code.
func TestFDEOffset(t *testing.T) {
	const dwarf = 3 << 24 // the mode on arm64
	rules := func(offset func(uint32) uint32) (texts []string) {
		in := library(t, "arm64-Os-nofp.dylib")
		for i, s := range in.Sections {
			if s.Name != sectionInfo {
				continue
			}
			in.Sections[i].Data = slices.Clone(s.Data)
			common, count := binary.LittleEndian.Uint32(s.Data[4:]), binary.LittleEndian.Uint32(s.Data[8:])
			for at := common; at < common+4*count; at += 4 {
				if e := binary.LittleEndian.Uint32(s.Data[at:]); e>>24 == dwarf>>24 {
					binary.LittleEndian.PutUint32(in.Sections[i].Data[at:], dwarf|offset(e&0xff_ffff))
				}
			}
		}
		opened, problems := open(unwind.ARM64, &in)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		im := opened.(*image)
		for e := range im.table.All() {
			if uint32(e.Encoding)>>24 != dwarf>>24 {
				continue
			}
			for at := e.Start; at < e.End; at += 4 {
				rule, err := im.Rule(im.base+uint64(at), unwind.KindReturn)
				if err != nil || rule == nil {
					t.Fatalf("at %#x: %v, %v", at, rule, err)
				}
				texts = append(texts, rule.String())
			}
		}
		return texts
	}
	want := rules(func(offset uint32) uint32 { return offset })
	if len(want) < 300 {
		t.Fatalf("only %d instructions", len(want))
	}
	for name, offset := range map[string]func(uint32) uint32{
		"0":                  func(uint32) uint32 { return 0 },
		"of one FDE for all": func(uint32) uint32 { return 0x14 },
		"beyond the section": func(uint32) uint32 { return 0xff_fff0 },
	} {
		if got := rules(offset); !slices.Equal(got, want) {
			t.Errorf("offset %s: other rules", name)
		}
	}
}
