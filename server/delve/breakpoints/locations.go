package breakpoints

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/go-delve/delve/service/api"

	"github.com/clewdbg/clew/server/native"
)

// LocationOf is one location with all places, as Delve's interface has it.
func LocationOf(pid int, places []native.Place) api.Location {
	first := places[0]
	l := api.Location{PC: first.Addr, File: first.File, Line: first.Line, PCPids: slices.Repeat([]int{pid}, len(places))}
	if first.Function != "" {
		l.Function = &api.Function{Name_: first.Function}
	}
	for _, p := range places {
		l.PCs = append(l.PCs, p.Addr)
	}
	return l
}

// maxMatching bounds the functions of a regular expression: each becomes a breakpoint.
const maxMatching = 1 << 12

// Matching returns a location for each native function that a pattern matches.
func Matching(code *native.Code, pid int, pattern string) (out []api.Location, err error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pattern, err)
	}
	found, more := code.Matching(re, maxMatching)
	if more {
		return nil, fmt.Errorf("/%s/ matches more than %d native functions", pattern, maxMatching)
	}
	for _, f := range found {
		out = append(out, LocationOf(pid, []native.Place{PlaceOf(code, f.Body)}))
	}
	return out, nil
}
