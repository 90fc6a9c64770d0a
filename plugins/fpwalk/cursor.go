package fpwalk

import (
	"encoding/binary"

	"github.com/clewdbg/clew/unwind"
)

// cursor reads words from windows, and tries the window of the last read
// first: a walk stays in one window for long.
type cursor struct {
	windows unwind.Windows
	order   binary.ByteOrder
	last    int
}

// pair reads two words in a row, from one window or from two.
func (c *cursor) pair(addr uint64) (first, second uint64, ok bool) {
	if c.last < len(c.windows) {
		if w := &c.windows[c.last]; w.Contains(addr, 16) {
			p := w.Data[addr-w.Addr:][:16]
			return c.order.Uint64(p), c.order.Uint64(p[8:]), true
		}
	}
	for i := range c.windows {
		if c.windows[i].Contains(addr, 16) {
			c.last = i
			return c.pair(addr)
		}
	}
	first, ok1 := c.windows.Word(addr, c.order)
	second, ok2 := c.windows.Word(addr+8, c.order)
	return first, second, ok1 && ok2
}
