package sframe

import "fmt"

// Error is an unusable field of a section, with the reason.
type Error struct {
	Section string // ".sframe"
	Field   string // as the specification calls it: "sfh_num_fdes"
	Offset  uint64 // of the field in the section
	Reason  string
}

// Error returns the place, the field and the reason.
func (e *Error) Error() string {
	return fmt.Sprintf("%s+%#x: %s: %s", e.Section, e.Offset, e.Field, e.Reason)
}

// maxProblems is the number of problems of which the text is kept.
const maxProblems = 4

// problems are the first things that were wrong with a section, and how many
// there were.
type problems struct {
	first []*Error
	count int
}

func (p *problems) add(err *Error) {
	p.count++
	if len(p.first) < maxProblems {
		p.first = append(p.first, err)
	}
}
