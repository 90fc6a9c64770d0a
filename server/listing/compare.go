package listing

import (
	"cmp"
	"slices"
	"strings"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// Change is a group of stacks in two listings: the functions are the same, and so is
// what they wait for. Addresses may differ: the listings may be of two runs.
type Change struct {
	Functions     []string // innermost first
	Status        string   // "" where it is not known
	Before, After int
}

// Compare returns the groups whose sizes differ, those that grew most first.
func Compare(before, after []stackjson.Stack) []Change {
	found := make(map[string]*Change)
	count := func(stacks []stackjson.Stack, of func(*Change) *int) {
		for i := range stacks {
			c := changeOf(&stacks[i])
			key := c.Status + "\x00" + strings.Join(c.Functions, "\x00")
			if found[key] == nil {
				found[key] = &c
			}
			*of(found[key]) += max(stacks[i].Count, 1)
		}
	}
	count(before, func(c *Change) *int { return &c.Before })
	count(after, func(c *Change) *int { return &c.After })
	var out []Change
	for _, c := range found {
		if c.Before != c.After {
			out = append(out, *c)
		}
	}
	slices.SortFunc(out, func(a, b Change) int {
		return cmp.Or(cmp.Compare(b.After-b.Before, a.After-a.Before), cmp.Compare(a.Status, b.Status), slices.Compare(a.Functions, b.Functions))
	})
	return out
}

func changeOf(s *stackjson.Stack) (c Change) {
	if s.State != nil {
		c.Status = cmp.Or(s.State.WaitReason, s.State.Status)
	}
	for i := range s.Frames {
		name := s.Frames[i].Function
		if name == "" {
			name = cmp.Or(s.Frames[i].Image, "?")
		}
		c.Functions = append(c.Functions, name)
	}
	return c
}
