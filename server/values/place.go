package values

import (
	"errors"
	"fmt"

	"github.com/clewdbg/clew/server/values/location"
)

// Watchable returns the memory that a watchpoint of the processor's can stand on; the error says why there is none.
func (v *Value) Watchable() (addr uint64, size int64, err error) {
	v = plain(v)
	u, err := v.under()
	switch {
	case err != nil:
		return 0, 0, err
	case v.bits > 0:
		return 0, 0, errors.New("a bit field cannot be watched: it has no bytes of its own")
	}
	if size, err = u.Bytes(); err != nil {
		return 0, 0, err
	}
	addr, ok := v.Address()
	switch {
	case !ok && len(v.place.Pieces) == 1 && v.place.Pieces[0].Kind == location.Register:
		return 0, 0, fmt.Errorf("it lies in the register %s, and memory alone can be watched", v.frame.stack.registerName(v.place.Pieces[0].Reg))
	case !ok:
		return 0, 0, errors.New("it does not lie in one piece of memory, which alone can be watched")
	case size != 1 && size != 2 && size != 4 && size != 8:
		return 0, 0, fmt.Errorf("it has %d bytes, and 1, 2, 4 or 8 can be watched: watch a part of it", size)
	case addr%uint64(size) != 0:
		return 0, 0, fmt.Errorf("its %d bytes at %#x are not aligned, and cannot be watched", size, addr)
	}
	return addr, size, nil
}

// GoExpression is an expression of Delve's for memory.
func GoExpression(addr uint64, size int64) string {
	return fmt.Sprintf("*(*[%d]byte)(%#x)", size, addr)
}
