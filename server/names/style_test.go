package names

import (
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// TestStyle: names are short on a terminal, whole elsewhere, and as the user says.
func TestStyle(t *testing.T) {
	f := unwind.Frame{Function: "int pick<int>(int)", Image: `C:\bin\x.exe`, Offset: 0x10}
	for _, c := range []struct {
		chosen   string
		terminal bool
		want     string
	}{
		{"", true, "pick"}, {"", false, f.Function}, {"full", true, f.Function}, {"short", false, "pick"},
	} {
		var s Style
		if err := s.Set(c.chosen); err != nil {
			t.Error(err)
		}
		if got := s.On(c.terminal).Frame(&f); got != c.want {
			t.Errorf("--names %q, terminal %v: %s, want %s", c.chosen, c.terminal, got, c.want)
		}
	}
	var s Style
	if err := s.Set("long"); err == nil || s != "" {
		t.Errorf("%q is a style: %v", s, err)
	}
	f.Function = ""
	if got := StyleShort.Frame(&f); got != "x.exe+0x10" {
		t.Errorf("without a function: %s", got)
	}
	if got := StyleShort.Frame(&unwind.Frame{}); got != "" {
		t.Errorf("without an image: %s", got)
	}
}
