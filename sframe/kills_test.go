package sframe_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/sframetest"
	"github.com/clewdbg/clew/sframe"
)

// TestLibsframeKills reads the damaged sections that libsframe 2.47 does not
// survive (kept by sframetest/kill): each is read as far as it makes sense, or
// refused with the field and its offset, in memory in proportion to its size.
func TestLibsframeKills(t *testing.T) {
	list, err := os.ReadFile("testdata/libsframe-kills.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(list)), "\n")
	if len(lines) < 500 {
		t.Fatalf("only %d sections", len(lines))
	}
	type loaded struct {
		section sframe.Section
		opts    sframe.Options
	}
	files := map[string]loaded{}
	refused, partly, whole := 0, 0, 0
	for _, line := range lines {
		m, err := sframetest.ParseMutation(line)
		if err != nil {
			t.Fatal(err)
		}
		from, ok := files[m.File]
		if !ok {
			if from.section, from.opts, err = sframetest.Load(filepath.Join("testdata", m.File+".elf.gz")); err != nil {
				t.Fatal(err)
			}
			files[m.File] = from
		}
		section := from.section
		if section.Data, err = m.Apply(section.Data); err != nil {
			t.Fatal(err)
		}
		t.Run(line, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			tab := sframe.New(section, from.opts)
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > 64<<10+16*uint64(len(section.Data)) {
				t.Errorf("%d bytes of memory for a section of %d", took, len(section.Data))
			}
			consistent(t, tab, section.Data)
			switch _, problems := tab.Problems(); {
			case tab.Len() == 0 && problems == 0:
				t.Error("nothing is read, and nothing refused")
			case tab.Len() == 0:
				refused++
			case problems > 0:
				partly++
			default:
				whole++
			}
		})
	}
	t.Logf("%d sections: %d refused, of %d a part, %d read as they are", len(lines), refused, partly, whole)
}
