package symbols

import (
	"math"
	"slices"
	"testing"
)

// TestFill: words that the loader fills in are written where they lie in the data as a
// whole, and nowhere else, whatever the file says.
func TestFill(t *testing.T) {
	m := &modelled{relative: []word{{0x0ff8, 1}, {0x1000, 2}, {0x1009, 3}, {0x100c, 4}, {math.MaxUint64 - 3, 5}}}
	for _, c := range []struct {
		n    int
		want []byte
	}{
		{20, []byte{2, 0, 0, 0, 0, 0, 0, 0, 9, 3, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0}},
		{8, []byte{2, 0, 0, 0, 0, 0, 0, 0}},
		{7, []byte{9, 9, 9, 9, 9, 9, 9}},
		{0, nil},
	} {
		data := slices.Repeat([]byte{9}, c.n)
		if m.fill(0x1000, data); !slices.Equal(data, c.want) {
			t.Errorf("%d bytes: %v, want %v", c.n, data, c.want)
		}
	}
	high := slices.Repeat([]byte{9}, 8)
	if m.fill(math.MaxUint64-7, high); high[0] != 9 {
		t.Errorf("a word that begins in the data and ends beyond it was written: %v", high)
	}
}
