package delve

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
)

// checkLines looks for a line table whose header Delve does not survive: it reads the lists of folders and files
// of each unit, allocates what their counts claim, and takes strings at the offsets that they name
// (pkg/dwarf/line, parseIncludeDirs5 and parseFileEntries5; in older tables a number may break off). A panic there ends the process: it is in a
// goroutine of Delve's own. tables are by their offsets, of size bytes together.
func checkLines(f *elf.File) (tables map[uint64]lineTable, size int, err error) {
	data, err := godwarf.GetDebugSectionElf(f, "line")
	if err != nil {
		return nil, 0, nil // Delve cannot read it either
	}
	tables = map[uint64]lineTable{}
	names, _ := godwarf.GetDebugSectionElf(f, "line_str") // versions before 5 have none
	left := readsAnyFile + readsPerByte*len(data)
	h := lineHeaders{data: data, strings: names, order: f.ByteOrder, left: &left}
	for len(h.data) > 0 {
		at := len(data) - len(h.data)
		h.table = lineTable{}
		ok := h.unit()
		if left < 0 {
			return nil, 0, fmt.Errorf("the names in the line table at offset %#x of .debug_line are too long together", at)
		}
		if !ok {
			return nil, 0, fmt.Errorf("the line table at offset %#x of .debug_line is damaged", at)
		}
		tables[uint64(at)] = h.table
	}
	return tables, len(data), nil
}

// lineTable is what a line table holds that Delve keeps for each unit that names it.
type lineTable struct {
	size, files uint64 // bytes of its texts, number of its files
	longest     uint64 // text
}

// fileSize is about what Delve keeps for a file besides its folder's name, in bytes.
const fileSize = 256

// cost is what a unit with the table takes, in bytes, where its own folder's name is no longer than dir: Delve puts the folder's
// name before each file's.
func (t *lineTable) cost(dir uint64) uint64 {
	return t.size + t.files*max(fileSize, t.longest, dir)
}

// text counts one.
func (h *lineHeaders) text(size int) {
	h.table.size, h.table.longest = h.table.size+uint64(size), max(h.table.longest, uint64(size))
	*h.left -= size
}

// lineHeaders reads the headers of line tables (DWARF 5, section 6.2.4).
type lineHeaders struct {
	data    []byte // what is left
	strings []byte // .debug_line_str
	order   binary.ByteOrder
	table   lineTable
	left    *int // bytes that the texts of all tables may still have
}

// unit reads the header of a unit, and skips its rows. Padding after the last one is a unit without contents.
func (h *lineHeaders) unit() bool {
	length, ok := h.number(4)
	if length == 0xffffffff { // 64-bit DWARF, which Delve does not know (section 7.4)
		h.data = nil
		return true
	}
	if !ok || length > uint64(len(h.data)) {
		return false
	}
	unit := lineHeaders{h.data[:length], h.strings, h.order, lineTable{}, h.left}
	h.data = h.data[length:]
	ok = length == 0 || unit.header()
	h.table = unit.table
	return ok
}

// header reads what comes before a unit's rows.
func (h *lineHeaders) header() bool {
	version, ok := h.number(2)
	if !ok || version < 2 || version > 5 {
		return false
	}
	if version == 5 && !h.skip(2) { // sizes of an address and of a segment selector
		return false
	}
	size, ok := h.number(4)
	if !ok || size > uint64(len(h.data)) {
		return false
	}
	h.data = h.data[:size]
	fixed := 5 // bytes, up to the number of opcodes
	if version >= 4 {
		fixed++
	}
	if len(h.data) < fixed {
		return false
	}
	opcodes := int(h.data[fixed-1])
	if !h.skip(uint64(fixed)) || opcodes == 0 || !h.skip(uint64(opcodes-1)) {
		return false
	}
	if version < 5 {
		return h.ended(0) && h.ended(3)
	}
	return h.list(nil) && h.list(&h.table.files) // folders, files
}

// ended reads a list that ends with an empty name, as versions before 5 have them: names with so many numbers each.
func (h *lineHeaders) ended(numbers int) bool {
	for {
		name, rest, found := bytes.Cut(h.data, []byte{0})
		if h.data = rest; !found || len(name) == 0 {
			return found
		}
		h.text(len(name))
		if numbers > 0 {
			h.table.files++
		}
		for range numbers {
			if _, ok := h.leb(); !ok {
				return false
			}
		}
	}
}

// list reads a list of folders or of files: the forms of an entry, the count, and the entries. number is set to the count
// if it is not nil.
func (h *lineHeaders) list(number *uint64) bool {
	n, ok := h.number(1)
	if !ok {
		return false
	}
	forms := make([]uint64, 0, n)
	for range n {
		if _, ok := h.leb(); !ok { // what it is
			return false
		}
		form, ok := h.leb()
		if !ok {
			return false
		}
		forms = append(forms, form)
	}
	count, ok := h.leb()
	if !ok || count > uint64(len(h.data)) || count > 0 && len(forms) == 0 { // an entry takes a byte or more
		return false
	}
	if number != nil {
		*number = count
	}
	for range count {
		for _, form := range forms {
			if !h.value(form) {
				return false
			}
		}
	}
	return true
}

// formSizes are the sizes of forms that are as long as others of their kind (DWARF 5, section 7.5.6).
var formSizes = map[uint64]int{
	0x0b: 1, 0x0c: 1, 0x25: 1, // data1, flag, strx1
	0x05: 2, 0x26: 2, // data2, strx2
	0x27: 3,                            // strx3
	0x06: 4, 0x17: 4, 0x0e: 4, 0x28: 4, // data4, sec_offset, strp, strx4
	0x07: 8, 0x1e: 16, // data8, data16
}

// value reads a value of a form that Delve knows.
func (h *lineHeaders) value(form uint64) bool {
	switch form {
	case 0x08: // string
		text, rest, found := bytes.Cut(h.data, []byte{0})
		h.data = rest
		h.text(len(text))
		return found
	case 0x1f: // line_strp
		at, ok := h.number(4)
		if h.strings == nil || at > uint64(len(h.strings)) {
			return ok && h.strings == nil
		}
		h.text(max(0, bytes.IndexByte(h.strings[at:], 0)))
		return ok && *h.left >= 0
	case 0x0d, 0x0f, 0x1a: // sdata, udata, strx
		_, ok := h.leb()
		return ok
	case 0x09: // block
		n, ok := h.leb()
		return ok && h.skip(n)
	case 0x0a, 0x03, 0x04: // block1, block2, block4
		n, ok := h.number(map[uint64]int{0x0a: 1, 0x03: 2, 0x04: 4}[form])
		return ok && h.skip(n)
	}
	size, known := formSizes[form]
	return known && h.skip(uint64(size))
}

func (h *lineHeaders) number(size int) (v uint64, ok bool) {
	if len(h.data) < size {
		return 0, false
	}
	switch size {
	case 1:
		v = uint64(h.data[0])
	case 2:
		v = uint64(h.order.Uint16(h.data))
	case 4:
		v = uint64(h.order.Uint32(h.data))
	}
	h.data = h.data[size:]
	return v, true
}

func (h *lineHeaders) skip(n uint64) bool {
	if n > uint64(len(h.data)) {
		return false
	}
	h.data = h.data[n:]
	return true
}

// leb reads an unsigned LEB128 number, or skips a signed one.
func (h *lineHeaders) leb() (uint64, bool) {
	v, n := binary.Uvarint(h.data)
	if n <= 0 {
		return 0, false
	}
	h.data = h.data[n:]
	return v, true
}
