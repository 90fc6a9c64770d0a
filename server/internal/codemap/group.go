package codemap

import (
	"fmt"
	"strings"

	"github.com/clewdbg/clew/unwind"
)

// group gives each run of frames in generated code that nothing names the words for the one
// row that stands for all of it.
func (m *Map) group(frames []unwind.Frame) {
	if m.generated == nil {
		return
	}
	for first := 0; first < len(frames); first++ {
		last := first
		for last < len(frames) && frames[last].Function == "" && m.generated.where.Contains(uint64(frames[last].PC.Lookup(m.arch))) {
			last++
		}
		if last == first {
			continue
		}
		text := fmt.Sprintf("generated code, %d frames without names", last-first)
		if last-first == 1 {
			text = "generated code, 1 frame without a name"
		}
		if last < len(frames) {
			if owner := repository(frames[last].Function); owner != "" {
				text = owner + ": " + text
			}
		}
		for i := first; i < last; i++ {
			frames[i].Group = text
		}
		first = last
	}
}

// repository is the name of the repository that a Go function's package comes from, by its path:
// "wazero" of github.com/tetratelabs/wazero/internal/engine. "" if the path shows none.
func repository(function string) string {
	parts := strings.SplitN(function, "/", 4)
	if len(parts) < 3 || !strings.Contains(parts[0], ".") || strings.ContainsAny(parts[0], "([<* ") {
		return ""
	}
	name, _, _ := strings.Cut(parts[2], ".")
	return name
}
