package dwarfcfi

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/cfi"
	"github.com/clewdbg/clew/internal/unwind/cfi/cfitest"
	"github.com/clewdbg/clew/internal/unwind/tablewalk"
	"github.com/clewdbg/clew/internal/unwind/tablewalk/walktest"
	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

func update(t *testing.T, p *tablewalk.Unwinder, delta unwind.ImageDelta) []unwind.ImageReport {
	t.Helper()
	reports, err := p.Update(context.Background(), delta)
	if err != nil || len(reports) != len(delta.Added) {
		t.Fatalf("%d reports, %v", len(reports), err)
	}
	return reports
}

// TestCoverage: the functions that have usable rules, and what is wrong with
// the others, by section and offset.
func TestCoverage(t *testing.T) {
	image := program(unwind.AMD64, defOffset(16), []byte{0x3f}, defOffset(24))
	r := update(t, New(), unwind.ImageDelta{Arch: unwind.AMD64, Added: []unwind.Image{{ID: 9}, image}})
	want := unwind.RangeSet{{Start: function(0), End: function(1)}, {Start: function(2), End: function(3)}}
	if !slices.Equal(r[1].Coverage, want) || !strings.HasPrefix(r[1].Problem, ".eh_frame+0x") || !strings.Contains(r[1].Problem, "0x3f") {
		t.Errorf("%+v", r[1])
	}
	if r[0].ID != 9 || r[0].Problem != "" || len(r[0].Coverage) != 0 {
		t.Errorf("an image without tables: %+v", r[0])
	}
	bad := make([][]byte, 10)
	for i := range bad {
		bad[i] = []byte{0x3f}
	}
	r = update(t, New(), unwind.ImageDelta{Arch: unwind.AMD64, Added: []unwind.Image{program(unwind.AMD64, bad...)}})
	if !strings.HasSuffix(r[0].Problem, "6 more in .eh_frame") {
		t.Errorf("ten problems: %s", r[0].Problem)
	}
}

// TestUpdate: images come, are replaced and go; their rules with them.
func TestUpdate(t *testing.T) {
	p := New()
	s := stackasm.New(unwind.AMD64, stackBase).Mark("sp").Word(function(1)+8, function(1)+9, function(1)+10)
	at := walktest.Request(t, unwind.AMD64, unwind.KindReturn, s, stackasm.Values{"rip": num(inFirst), "rsp": at("sp")})
	one, two := program(unwind.AMD64, defOffset(16), outermost), program(unwind.AMD64, defOffset(24), outermost)
	two.ID = 2
	walktest.Wants(t, p, at, nil, unwind.StopNoRule, "no DWARF rules")
	update(t, p, unwind.ImageDelta{Arch: unwind.AMD64, Added: []unwind.Image{one}})
	walktest.Wants(t, p, at, []uint64{function(1) + 9}, unwind.StopEnd, "undefined")
	update(t, p, unwind.ImageDelta{Arch: unwind.AMD64, Removed: []unwind.ImageID{1, 77}, Added: []unwind.Image{two}})
	walktest.Wants(t, p, at, []uint64{function(1) + 10}, unwind.StopEnd, "undefined")
	one.ID = 2
	update(t, p, unwind.ImageDelta{Arch: unwind.AMD64, Added: []unwind.Image{one}})
	walktest.Wants(t, p, at, []uint64{function(1) + 9}, unwind.StopEnd, "undefined")
	update(t, p, unwind.ImageDelta{Arch: unwind.AMD64, Removed: []unwind.ImageID{2}})
	walktest.Wants(t, p, at, nil, unwind.StopNoRule, "no DWARF rules")
}

// TestLyingImage: an image whose FDE claims all of memory does not take other
// images' code, whether its own code is known or not.
func TestLyingImage(t *testing.T) {
	good := program(unwind.AMD64, defOffset(16), outermost)
	b := cfitest.Builder{Addr: 0x20_0000}
	b.FDE(b.CIE(cfitest.CIE{RA: 16, Code: []byte{0x0c, 7, 64}}), b.Quad(0x1000), b.Quad(1<<62))
	liar := unwind.Image{ID: 7, Sections: []unwind.Section{{Name: sectionEH, Addr: 0x20_0000, Data: b.Bytes()}}}
	s := stackasm.New(unwind.AMD64, stackBase).Mark("sp").Word(0, function(1)+8).Pad(64)
	at := walktest.Request(t, unwind.AMD64, unwind.KindReturn, s, stackasm.Values{"rip": num(inFirst), "rsp": at("sp")})
	for _, known := range []bool{false, true} {
		if known {
			liar.Executable = []unwind.Range{{Start: 0x1000, End: 0x2000}}
		}
		p := New()
		r := update(t, p, unwind.ImageDelta{Arch: unwind.AMD64, Added: []unwind.Image{liar, good}})
		if (r[0].Problem != "") != known || (len(r[0].Coverage) == 0) != known {
			t.Errorf("code known %v: %+v", known, r[0])
		}
		walktest.Wants(t, p, at, []uint64{function(1) + 8}, unwind.StopEnd, "undefined")
	}
}

// TestSegment: without section headers the tables are found by the program
// header's segment; a named section is preferred.
func TestSegment(t *testing.T) {
	image := program(unwind.AMD64, defOffset(16), outermost)
	frame := image.Sections[0]
	data := []byte{1, 0x1b, 0xff, 0xff}
	data = binary.LittleEndian.AppendUint32(data, 12-4)
	data = append(append(data, 0, 0, 0, 0), frame.Data...)
	segment := unwind.Section{Name: sectionSegment, Addr: frame.Addr - 12, Data: append(data, 0xff, 0xff, 0xff)}
	image.Sections = []unwind.Section{segment}
	s := stackasm.New(unwind.AMD64, stackBase).Mark("sp").Word(0, function(1)+8).Pad(64)
	at := walktest.Request(t, unwind.AMD64, unwind.KindReturn, s, stackasm.Values{"rip": num(inFirst), "rsp": at("sp")})
	walktest.Wants(t, with(t, unwind.AMD64, 0, image), at, []uint64{function(1) + 8}, unwind.StopEnd, "undefined")

	// .eh_frame in front of its header.
	end := frame.Addr + uint64(len(frame.Data))
	behind := []byte{1, 0x1b, 0xff, 0xff}
	behind = binary.LittleEndian.AppendUint32(behind, uint32(frame.Addr-end-4))
	before := unwind.Section{Name: sectionBefore, Addr: frame.Addr, Data: frame.Data}
	image.Sections = []unwind.Section{{Name: sectionSegment, Addr: end, Data: behind}, before}
	walktest.Wants(t, with(t, unwind.AMD64, 0, image), at, []uint64{function(1) + 8}, unwind.StopEnd, "undefined")
	image.Sections[1].Addr-- // not where it belongs
	r := update(t, New(), unwind.ImageDelta{Arch: unwind.AMD64, Added: []unwind.Image{image}})
	if !strings.Contains(r[0].Problem, "outside") || len(r[0].Coverage) != 0 {
		t.Errorf("%+v", r[0])
	}

	segment.Data = segment.Data[:9]
	image.Sections = []unwind.Section{segment}
	r = update(t, New(), unwind.ImageDelta{Arch: unwind.AMD64, Added: []unwind.Image{image}})
	if !strings.Contains(r[0].Problem, "outside") || len(r[0].Coverage) != 0 {
		t.Errorf("%+v", r[0])
	}
	image.Sections = append(image.Sections, frame)
	walktest.Wants(t, with(t, unwind.AMD64, 0, image), at, []uint64{function(1) + 8}, unwind.StopEnd, "undefined")
}

// TestBothSections: .eh_frame counts before .debug_frame, which adds what the
// other does not have.
func TestBothSections(t *testing.T) {
	image := program(unwind.AMD64, defOffset(16))
	b := cfitest.Builder{Kind: cfi.DebugFrame}
	cie := b.CIE(cfitest.CIE{Version: 4, RA: 16, Code: join(defCFA(7, 64), saved(16, 1))})
	b.FDE(cie, b.Quad(function(0)), b.Quad(funcSize))
	b.FDE(cie, b.Quad(function(1)), b.Quad(funcSize), outermost)
	image.Sections = append(image.Sections, unwind.Section{Name: sectionDebug, Data: b.Bytes()})
	p := with(t, unwind.AMD64, 0, image)
	s := stackasm.New(unwind.AMD64, stackBase).Mark("sp").Word(0, function(1)+8).Pad(64)
	walktest.Wants(t, p, walktest.Request(t, unwind.AMD64, unwind.KindReturn, s, stackasm.Values{"rip": num(inFirst), "rsp": at("sp")}),
		[]uint64{function(1) + 8}, unwind.StopEnd, "undefined")
}

// TestForeignArchitecture: images of architectures without rules here have no
// coverage, and the same addresses on another architecture no rules.
func TestForeignArchitecture(t *testing.T) {
	image := program(unwind.AMD64, defOffset(16))
	r := update(t, New(), unwind.ImageDelta{Arch: unwind.S390X, Added: []unwind.Image{image}})
	if len(r[0].Coverage) != 0 {
		t.Errorf("%+v", r[0])
	}
	p := with(t, unwind.AMD64, 0, image)
	s := stackasm.New(unwind.ARM64, stackBase).Mark("sp").Pad(64)
	walktest.Wants(t, p, walktest.Request(t, unwind.ARM64, unwind.KindInstruction, s, stackasm.Values{"pc": num(inFirst), "sp": at("sp")}), nil, unwind.StopNoRule, "no DWARF rules")
}

// BenchmarkWalk makes steps whose rules are known already.
func BenchmarkWalk(b *testing.B) {
	for _, frames := range []int{50, 9_999} {
		b.Run(map[int]string{50: "50", 9_999: "10000"}[frames], func(b *testing.B) {
			image, r, _ := deep(b, unwind.AMD64, frames)
			r.AllRegisters = false
			p, requests := with(b, unwind.AMD64, 0, image), []unwind.WalkRequest{r}
			b.ReportAllocs()
			for b.Loop() {
				if results, err := p.Walk(context.Background(), requests); err != nil || len(results[0].Steps) != frames {
					b.Fatalf("%v: %d steps", err, len(results[0].Steps))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(frames), "ns/frame")
		})
	}
}

// BenchmarkRule makes rules from the tables, as for an address that is new.
func BenchmarkRule(b *testing.B) {
	image, _, _ := deep(b, unwind.AMD64, 3)
	tables, _ := open(unwind.AMD64, &image)
	b.ReportAllocs()
	for b.Loop() {
		if r, err := tables.Rule(function(1)+0x3f, unwind.KindReturn); err != nil || r == nil {
			b.Fatal(err)
		}
	}
}
