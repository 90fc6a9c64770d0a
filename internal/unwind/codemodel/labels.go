package codemodel

import (
	"cmp"
	"slices"
)

// Reference is a word of data that points to code.
type Reference struct{ At, To uint64 }

// Bounds of a list of labels.
const (
	fewestLabels = 4
	mostLabels   = 1 << 12
)

// Labels implements [prologue.Surroundings]: an interpreter lists the places where its instructions are carried out,
// and jumps to the one that the next instruction names. Words of data are such a list if they lie side by side, all
// lead into the function, and not all to where functions are aligned.
func (m *surroundings) Labels(start uint64, n int) (out []uint64) {
	from, _ := slices.BinarySearchFunc(m.pointers, start+1, func(p Reference, to uint64) int { return cmp.Compare(p.To, to) })
	to, _ := slices.BinarySearchFunc(m.pointers, start+uint64(n), func(p Reference, to uint64) int { return cmp.Compare(p.To, to) })
	if to-from < fewestLabels || to-from > mostLabels {
		return nil
	}
	within := slices.Clone(m.pointers[from:to])
	slices.SortFunc(within, byPlace)
	for len(within) > 0 {
		n, aligned := 1, within[0].To%functionAlign == 0
		for ; n < len(within) && within[n].At == within[n-1].At+wordSize; n++ {
			aligned = aligned && within[n].To%functionAlign == 0
		}
		if n >= fewestLabels && !aligned {
			for _, p := range within[:n] {
				out = append(out, p.To)
			}
		}
		within = within[n:]
	}
	slices.Sort(out)
	return slices.Compact(out)
}

const wordSize = 8

func byPlace(a, b Reference) int  { return cmp.Compare(a.At, b.At) }
func byTarget(a, b Reference) int { return cmp.Compare(a.To, b.To) }
