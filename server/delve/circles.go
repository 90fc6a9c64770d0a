package delve

import (
	"debug/dwarf"
	"errors"
	"math/bits"
	"sort"
)

// Entries lead to others: an inlined call to its function, a typedef to its type. Delve follows that to its end
// (pkg/dwarf/godwarf, LoadAbstractOriginAndSpecification and ResolveTypedef), and there may be none. circles remembers
// which entries lead on, and which are led to: a circle consists of such as are both. Hardly any other entries are.
type circles struct{ leads, led bitmap }

// bitmap has a bit for each byte of .debug_info.
type bitmap []uint64

func (b bitmap) set(at uint64) {
	if at/64 < uint64(len(b)) {
		b[at/64] |= 1 << (at % 64)
	}
}

func newCircles(info []byte) circles {
	n := len(info)/64 + 1
	return circles{make(bitmap, n), make(bitmap, n)}
}

// lead remembers that an entry leads to another.
func (c *circles) lead(from, to uint64) {
	c.leads.set(from)
	c.led.set(to)
}

// both visits the entries that lead on and are led to.
func (c *circles) both(visit func(at uint64) error) error {
	for i, word := range c.leads {
		for word &= c.led[i]; word != 0; word &= word - 1 {
			if err := visit(uint64(64*i + bits.TrailingZeros64(word))); err != nil {
				return err
			}
		}
	}
	return nil
}

var errCircle = errors.New(".debug_info: entries lead in a circle, or too far")

// maxLed is how far entries may lead. Compilers have a handful of typedefs, of functions two or three.
const maxLed = 128

// origins and types are what entries lead by, the first that they have.
var (
	origins = []uint64{attrOrigin, attrSpecification}
	types   = []uint64{attrType}
)

// leading says whether Delve follows an attribute of entries with a tag.
func leading(tag, attr uint64) bool {
	switch attr {
	case attrOrigin, attrSpecification:
		return true
	case attrType:
		switch dwarf.Tag(tag) {
		case dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType:
			return true
		}
	}
	return false
}

// checkCircles follows the entries that both lead on and are led to.
func (c *infoCheck) checkCircles() error {
	return c.circles.both(func(at uint64) error {
		for _, by := range [][]uint64{origins, types} {
			at, ok := at, true
			for n := 0; ok; n++ {
				if c.attributes--; n == maxLed || c.attributes < 0 {
					return errCircle
				}
				at, ok = c.next(at, by)
			}
		}
		return nil
	})
}

// next is where an entry leads to.
func (c *infoCheck) next(at uint64, by []uint64) (to uint64, ok bool) {
	i := sort.Search(len(c.units), func(i int) bool { return c.units[i].end > at })
	if i == len(c.units) || at < c.units[i].first {
		return 0, false
	}
	u := &c.units[i]
	c.data, c.bad, c.unit, c.base = c.whole[at:u.end], false, u.unit, u.base
	a, known := c.lookup(c.unit.table, c.leb()&maxCode)
	if c.bad || !known {
		return 0, false
	}
	best := len(by)
	for _, f := range a.fields {
		form := f.form
		if form == formIndirect {
			form = c.leb()
		}
		v, class := c.value(form)
		for j, attr := range by[:best] {
			if f.attr == attr && class == reference && leading(a.tag, attr) {
				to, best = c.target(form, v), j
			}
		}
	}
	return to, best < len(by) && !c.bad
}
