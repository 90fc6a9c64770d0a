package reading

import (
	"fmt"
	"slices"
	"strings"
)

// Globals returns the names of the program's global variables, as Delve's expressions have them after the
// name of their package; those of C are in package C. Their values are not read.
func (s *Reader) Globals() (names []string, err error) {
	defer func() {
		if r := recover(); r != nil { // Delve's code does not survive corrupt tables
			names, err = nil, fmt.Errorf("the global variables are too much for Delve: %v", r)
		}
	}()
	if s.globals == nil {
		if err := s.program.Gone(); err != nil { // Delve does not look, and does not survive a process that is gone
			return nil, err
		}
		found, err := s.program.Door.PackageVariables()
		if err != nil {
			return nil, err
		}
		s.globals = make([]string, 0, len(found))
		for _, v := range found {
			name := v.Name
			if !strings.Contains(name, ".") {
				name = "C." + name
			}
			s.globals = append(s.globals, name)
		}
		slices.Sort(s.globals)
		s.globals = slices.Compact(s.globals)
	}
	return s.globals, nil
}
