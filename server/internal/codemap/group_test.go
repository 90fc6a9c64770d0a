package codemap

import (
	"testing"

	"github.com/clewdbg/clew/server/internal/jit"
	"github.com/clewdbg/clew/unwind"
)

// TestGroup: code of no image that nothing names is a group; the Go that has called it says
// whose code it is.
func TestGroup(t *testing.T) {
	m := None(unwind.AMD64).with(&generated{
		where:       unwind.NewRangeSet(unwind.Range{Start: 0x1000, End: 0x3000}),
		names:       jit.NewNames([]jit.Symbol{{Start: 0x2000, End: 0x2100, Name: "named"}}),
		firstDumped: 1,
	})
	frame := func(pc uint64, function string) unwind.Frame {
		return unwind.Frame{PC: unwind.Code(pc, unwind.KindReturn), Function: function}
	}
	const call = "github.com/tetratelabs/wazero/internal/engine/wazevo.(*callEngine).callWithStack"
	s := unwind.Stack{Frames: []unwind.Frame{
		frame(0x1010, ""), frame(0x1020, ""), frame(0x9000, call), // 0x9000: in no executable memory, but Delve names it
		frame(0x1030, ""), frame(0x2010, ""), frame(0x9000, ""),
	}}
	m.Name(&s)
	want := []string{"wazero: generated code, 2 frames without names", "wazero: generated code, 2 frames without names", "", "generated code, 1 frame without a name", "", ""}
	for i, f := range s.Frames {
		if f.Group != want[i] {
			t.Errorf("frame %d: %+v, want %q", i, f, want[i])
		}
	}
	if f := s.Frames[4]; f.Function != "named" {
		t.Errorf("%+v", f)
	}
	for function, want := range map[string]string{"main.main": "", "net/http.(*conn).serve": "", "github.com/a/b.F": "b", "std::map<a.b/c/d>": ""} {
		if got := repository(function); got != want {
			t.Errorf("%s: %q, want %q", function, got, want)
		}
	}
}
