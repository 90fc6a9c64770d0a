package symbols

import (
	"debug/elf"
	"fmt"
)

// pageSize is the least that images are mapped by, in bytes.
const pageSize = 4096

// Start is the link-time address of the image's lowest byte in memory, which is its
// base in image maps: in ELF, the start of the page of its first loadable segment; in
// Mach-O, the header.
func (f *File) Start() uint64 {
	ef, ok := f.object.(*elfFile)
	if !ok {
		return f.Base()
	}
	start, found := uint64(0), false
	for _, p := range ef.Progs {
		if p.Type == elf.PT_LOAD && (!found || p.Vaddr < start) {
			start, found = p.Vaddr, true
		}
	}
	return start &^ (pageSize - 1)
}

// Name is the function's name, for an instruction or return address pc. Where only a
// label before it is known, that is said.
func (c Call) Name(pc uint64) string {
	if c.Label == 0 {
		return c.Function
	}
	return fmt.Sprintf("%s+%#x?", c.Function, pc-c.Label)
}
