package sframe

// markEvery is the number of rows between two marks.
const markEvery = 4

// mark is the place of a row of a function. Rows have no fixed size, so they
// can only be read one after another; with a mark at the start of each stretch
// of markEvery rows, but for the first, a lookup reads the rows of one stretch.
type mark struct {
	start uint32 // of the row, relative to the function or the repeated block
	at    uint32 // offset of the row in the section
}

// fewMarks are looked through faster than they are divided.
const fewMarks = 16

// stretch finds the stretch that a place of a function is in: the offset of its
// first row, its number of rows, and the start of the next stretch, limit if
// there is none.
func (t *Table) stretch(f *function, place, limit uint32) (at, rows int, end uint32) {
	marks := t.marks[f.marks:][:(f.count-1)/markEvery]
	low, high := 0, len(marks) // the first mark behind the place is in here
	for high-low > fewMarks {
		mid := int(uint(low+high) >> 1)
		if marks[mid].start <= place {
			low = mid + 1
		} else {
			high = mid
		}
	}
	for low < high && marks[low].start <= place {
		low++
	}
	at = int(f.rows)
	if low > 0 {
		at = int(marks[low-1].at)
	}
	if low < len(marks) {
		return at, markEvery, min(limit, marks[low].start)
	}
	return at, int(f.count) - markEvery*low, limit
}

// scan finds the last of n rows, the first at an offset, that does not start
// behind a place, and where the next one starts, limit if none does; without a
// row it has no words.
func scan(data []byte, at, n int, width uint8, big bool, place, limit uint32) (e encoded, end uint32) {
	for ; n > 0; n-- {
		next := encodedAt(data, at, width, big)
		if next.start > place {
			return e, min(limit, next.start)
		}
		e, at = next, next.next()
	}
	return e, limit
}
