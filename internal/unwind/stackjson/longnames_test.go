package stackjson

import (
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// TestLongNames: the frames of one function share its name; a stack of many with a very long one stays small as JSON. Names
// of the usual length are written of every frame.
func TestLongNames(t *testing.T) {
	text := func(frames, length int) string {
		s := &unwind.Stack{Frames: make([]unwind.Frame, frames), Notes: []string{"first"}}
		for i := range s.Frames {
			s.Frames[i].Function = strings.Repeat("f", length)
		}
		out, err := Marshal(FromStack(unwind.AMD64, s, false))
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	const note = "are left out behind the first 128 MiB"
	if out := text(20_000, 16<<10); len(out) > maxLong+20<<20 || strings.Count(out, note) != 1 || strings.Count(out, `"index"`) != 20_000 || !strings.Contains(out, `"first"`) {
		t.Errorf("%d bytes, %.100s", len(out), out)
	}
	if out := text(100_000, usual); strings.Contains(out, note) || strings.Count(out, `"function"`) != 100_000 {
		t.Errorf("%d bytes", len(out))
	}
}
