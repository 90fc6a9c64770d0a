package held

import (
	"maps"
	"slices"
)

// Sources are the source files that the program was built from, as its line tables name
// them.
func (s *Program) Sources() []string {
	group, unlock, err := s.Stopped()
	if err != nil {
		return nil
	}
	defer unlock()
	return slices.Clone(group.Selected.BinInfo().Sources)
}

// CodeLines returns those lines of a file, from first to last, that have code.
func (s *Program) CodeLines(file string, first, last int) []int {
	group, unlock, err := s.Stopped()
	if err != nil {
		return nil
	}
	defer unlock()
	var ask []int
	for line := first; line <= last; line++ {
		ask = append(ask, line)
	}
	found := group.Selected.BinInfo().AllPCsForFileLines(file, ask)
	maps.DeleteFunc(found, func(_ int, pcs []uint64) bool { return len(pcs) == 0 })
	return slices.Sorted(maps.Keys(found))
}
