package sframe

import (
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/inspect"
	"github.com/clewdbg/clew/internal/unwind/sframetest"
	"github.com/clewdbg/clew/unwind"
)

// TestInspection shows rows of every kind, and finds them by address.
func TestInspection(t *testing.T) {
	image := program(unwind.ARM64, rows{Rows: "00 03 00 | 04 83 00 | 08 87 20 e8 e0", Count: 3}, rows{},
		rows{Info: sframetest.Signal}, rows{Rows: "00 27 1001 f8ff f0ff", Count: 1, Info: sframetest.Signal})
	tables := Inspection.Open(&inspect.Image{Image: image, Arch: unwind.ARM64})
	if tables.Version != "3" || tables.Functions != 4 || tables.Count() != 6 || tables.Coverage.Size() != 4*funcSize || len(tables.Problems) != 0 {
		t.Errorf("%+v", tables)
	}
	for addr, want := range map[uint64]string{
		function(0):      "sp x30 unchanged top-frame-only",
		function(0) + 4:  "sp x30 unchanged mangled top-frame-only",
		function(0) + 90: "sp+32 [cfa-24] [cfa-32] mangled",
		function(1):      "undefined undefined undefined outermost",
		function(2):      "   signal null",
		function(3):      "sp+272 [cfa-8] [cfa-16] signal",
	} {
		row, ok := tables.Lookup(addr)
		if got := row.CFA + " " + row.RA + " " + row.FP + " " + strings.Join(row.Flags, " "); !ok || got != want && strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%#x: %q (%v), want %q", addr, got, ok, want)
		}
	}
	if _, ok := tables.Lookup(function(4)); ok {
		t.Error("there is a row behind the last function")
	}
	image.Sections[0].Name = sectionTyped
	if typed := Inspection.Open(&inspect.Image{Image: image, Arch: unwind.ARM64}); typed == nil || typed.Functions != 4 || len(typed.Problems) != 0 {
		t.Errorf("a section of another name: %+v", typed)
	}
	image.Sections[0].Name, image.Sections[0].Addr = ".sframe", 0
	unloaded := Inspection.Open(&inspect.Image{Image: image, Arch: unwind.ARM64})
	if unloaded == nil || unloaded.Functions != 0 || len(unloaded.Problems) != 1 || !strings.Contains(unloaded.Problems[0], "not loaded") {
		t.Errorf("a section that is not loaded: %+v", unloaded)
	}
	if Inspection.Open(&inspect.Image{Arch: unwind.AMD64}) != nil {
		t.Error("tables of nothing")
	}
}
