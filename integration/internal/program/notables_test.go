package program

import (
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/testneed"
)

// TestTableless: a build that is to have no tables is refused if its native code has one,
// for this processor and for arm64, where one of the two options leaves them all.
func TestTableless(t *testing.T) {
	const bare = "-O2 -g0 -fomit-frame-pointer "
	for name, v := range map[string]Variant{
		"static": {CFlags: bare},
		"linked": {CFlags: bare, Linkage: Linked, Stripped: true},
	} {
		for arch, find := range map[string]func(Variant) (Tools, error){"here": Variant.Tools, "arm64": Variant.CrossTools} {
			t.Run(name+"-"+arch, func(t *testing.T) {
				t.Parallel()
				v := v
				tools, err := find(v)
				if err != nil {
					testneed.LeaveOut(t, "%v", err)
				}
				v.Name = t.Name()
				with, err := v.Build(t.TempDir(), tools)
				if err != nil {
					t.Fatal(err)
				}
				if err := v.check(with, tools); err == nil || !strings.Contains(err.Error(), ".eh_frame describes") {
					t.Errorf("a build with tables: %v", err)
				}
				v.CFlags += NoTables
				if _, err := v.Build(t.TempDir(), tools); err != nil {
					t.Errorf("without: %v", err)
				}
			})
		}
	}
}
