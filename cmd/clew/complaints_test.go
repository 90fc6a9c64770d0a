package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestManyFaultyLines: of a stream with many faulty lines the first errors are said, the rest counted; each line has its answer
// nevertheless.
func TestManyFaultyLines(t *testing.T) {
	const lines = maxComplaints + 1234
	for _, c := range []struct {
		run     execution
		answers int
	}{
		{execute(unwindCommand(), strings.Repeat("{}\n", lines), "-"), lines},
		{execute(unwindCommand(), strings.Repeat("{}\n", maxComplaints), "-"), maxComplaints},
		{execute(decodeCommand(), strings.Repeat("{}\n", lines), "-"), 0},
	} {
		said := strings.Split(strings.TrimSuffix(c.run.errors, "\n"), "\n")
		more := fmt.Sprintf("%d more such lines not shown", lines-maxComplaints)
		if len(said) == maxComplaints && c.answers == maxComplaints {
			more = "" // none is left
		}
		if want := maxComplaints + min(len(more), 1); len(said) != want || !strings.Contains(said[len(said)-1], more) || c.run.code != exitFailed {
			t.Errorf("code %d, %d errors, the last one %q", c.run.code, len(said), said[len(said)-1])
		}
		if n := strings.Count(c.run.out, "\n"); n != c.answers {
			t.Errorf("%d answers, expected %d", n, c.answers)
		}
	}
}
