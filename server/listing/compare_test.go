package listing

import (
	"slices"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

func TestCompare(t *testing.T) {
	of := func(count int, reason string, functions ...string) (s stackjson.Stack) {
		s.Count, s.State = count, &stackjson.State{Status: "waiting", WaitReason: reason}
		for i, f := range functions {
			s.Frames = append(s.Frames, stackjson.Frame{Function: f, PC: stackjson.Address(i * count)}) // addresses do not matter
		}
		return s
	}
	before := []stackjson.Stack{of(3, "chan receive", "main.worker"), of(0, "select", "main.loop"), of(2, "sleep", "main.idle"), of(5, "sleep", "main.same")}
	after := []stackjson.Stack{of(0, "chan receive", "main.worker"), of(9, "chan receive", "main.worker"), of(4, "sleep", "main.idle"), of(5, "sleep", "main.same")}
	var got []int
	for _, c := range Compare(before, after) {
		got = append(got, c.Before, c.After)
	}
	if want := []int{3, 10, 2, 4, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if c := Compare(before, before); len(c) != 0 {
		t.Errorf("%+v", c)
	}
}
