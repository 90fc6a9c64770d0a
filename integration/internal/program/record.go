package program

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/clewdbg/clew/imagemap"
)

// Entry is a line of a record: see native.c for the kinds.
type Entry struct {
	Kind               byte
	Fn, RA, CFA, Extra uint64
}

// ReadRecord reads the record of a thread of the program, innermost first.
func ReadRecord(stem string, thread uint64) ([]Entry, error) {
	data, err := os.ReadFile(fmt.Sprintf("%s.%d", stem, thread))
	if err != nil {
		return nil, fmt.Errorf("the program's record: %w", err)
	}
	var entries []Entry
	for line := range strings.Lines(string(data)) {
		var e Entry
		if _, err := fmt.Sscanf(line, "%c 0x%x 0x%x 0x%x 0x%x", &e.Kind, &e.Fn, &e.RA, &e.CFA, &e.Extra); err != nil {
			return nil, fmt.Errorf("record line %q: %w", line, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// ReadMappings reads /proc/PID/maps, or the program's copy of it.
func ReadMappings(name string) ([]imagemap.Mapping, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return imagemap.ParseMaps(bytes.NewReader(data))
}
