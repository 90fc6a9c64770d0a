package sframe

import (
	"encoding/binary"
	"math"

	"github.com/clewdbg/clew/unwind"
)

// Function is a function's entry in a table.
type Function struct {
	Start, End uint64
	Offset     uint64 // of the entry in the section
	Rows       uint32
	// Block is the size of the repeated code that the rows describe; 0 if they
	// describe the function from its start on.
	Block uint8
	// Flexible: rules name registers and are read from memory (version 3).
	Flexible bool
	// Signal: signal handlers return to the function.
	Signal bool
	// KeyB: signed return addresses are signed by key B (arm64).
	KeyB bool
}

// function is a Function as the index keeps it.
type function struct {
	start  uint64
	size   uint32
	entry  uint32 // offset in the section
	rows   uint32 // offset of the first row in the section
	count  uint32
	marks  uint32 // index of the first of its marks
	header uint16 // index of the table's header
	bits   traits
	block  uint8
}

type traits uint8

const (
	bitFlexible traits = 1 << iota
	bitSignal
	bitKeyB
	bitCorrected // the linker's rule for .plt.got is one word off
	bitDoubtful  // some of its rows may be wrong
	// The two bits from here on are the width of a row's start: 1, 2 or 4 bytes.
	widthShift = 6
	bitsWidth  = 3 << widthShift
)

// width is that of a row's start in bytes.
func (f *function) width() uint8 { return 1 << (f.bits >> widthShift) }

func (f *function) end() uint64 { return f.start + uint64(f.size) }

func (f *function) export() Function {
	return Function{Start: f.start, End: f.end(), Offset: uint64(f.entry), Rows: f.count, Block: f.block,
		Flexible: f.bits&bitFlexible != 0, Signal: f.bits&bitSignal != 0, KeyB: f.bits&bitKeyB != 0}
}

// Names of the fields in versions 1 and 2, and in version 3.
var (
	fieldStart = [2]string{"sfde_func_start_address", "sfdi_func_start_offset"}
	fieldRows  = [2]string{"sfde_func_start_fre_off", "sfdi_func_start_fre_off"}
	fieldInfo  = [2]string{"sfde_func_info", "sfda_func_info"}
	fieldBlock = [2]string{"sfde_func_rep_size", "sfda_func_rep_size"}
)

// names is the index of the version's names.
func (h *Header) names() int { return int(h.Version / 3) }

const (
	attributeSize = 5 // of version 3, before a function's rows
	// blockV1 is the size of a repeated block in version 1, which does not say:
	// that of a PLT entry on amd64.
	blockV1 = 16
)

// Bits of a function's info byte and of version 3's second one.
const (
	infoRowType = 0x0f
	infoMask    = 0x10
	infoKeyB    = 0x20
	infoUnused  = 0x40
	infoSignal  = 0x80 // version 3

	info2Type = 0x1f
	typeFlex  = 1
)

// count reads the number of rows of a table's i-th function.
func (t *reading) count(h *Header, i int) (rows uint32, known bool) {
	data := t.section.Data
	at := h.functions + i*h.entrySize()
	if h.Version < 3 {
		return uintN(data[at+12:], 4, h.Big), true
	}
	rel := uint64(uintN(data[at+12:], 4, h.Big))
	if rel+attributeSize > uint64(h.rowsEnd-h.rows) {
		return 0, false
	}
	return uintN(data[h.rows+int(rel):], 2, h.Big), true
}

// function reads the i-th function of a table, and checks all that can be
// checked without its rows.
func (t *reading) function(h *Header, headerIndex uint16, i int) (f function, bad *Error) {
	data, big, v := t.section.Data, h.Big, h.names()
	at := h.functions + i*h.entrySize()
	f.entry, f.header = uint32(at), headerIndex
	base := t.section.Addr + h.Offset
	if h.Flags&FlagPCRelative != 0 {
		base = t.section.Addr + uint64(at)
	}
	var rel uint64
	var offset int64
	var info, info2 uint8
	infoAt, blockAt := at+16, at+17
	if h.Version == 3 {
		offset = int64(h.order().Uint64(data[at:]))
		f.size, rel = uintN(data[at+8:], 4, big), uint64(uintN(data[at+12:], 4, big))
		if rel+attributeSize > uint64(h.rowsEnd-h.rows) {
			return f, t.errorf(at+12, fieldRows[v], "%#x lies behind the rows' end, %#x", rel, h.rowsEnd-h.rows)
		}
		attribute := h.rows + int(rel)
		infoAt, blockAt = attribute+2, attribute+4
		f.count = uintN(data[attribute:], 2, big)
		info, info2, f.block = data[infoAt], data[infoAt+1], data[blockAt]
		f.rows = uint32(attribute + attributeSize)
	} else {
		offset = int64(int32(uintN(data[at:], 4, big)))
		f.size, rel = uintN(data[at+4:], 4, big), uint64(uintN(data[at+8:], 4, big))
		f.count, info = uintN(data[at+12:], 4, big), data[infoAt]
		if rel > uint64(h.rowsEnd-h.rows) || rel == uint64(h.rowsEnd-h.rows) && f.count > 0 {
			return f, t.errorf(at+8, fieldRows[v], "%#x lies behind the rows' end, %#x", rel, h.rowsEnd-h.rows)
		}
		f.rows = uint32(h.rows + int(rel))
		if h.Version == 2 {
			f.block = data[blockAt]
		}
	}
	f.start = base + uint64(offset)
	if offset < 0 && f.start > base || offset >= 0 && f.start < base || uint64(f.size) > math.MaxUint64-f.start {
		return f, t.errorf(at, fieldStart[v], "%#x%+#x is no address", base, offset)
	}
	if align := h.Arch.InstructionAlignment(); f.start%align != 0 {
		return f, t.errorf(at, fieldStart[v], "no instruction is at %#x, which is no multiple of %d", f.start, align)
	}
	if width := info & infoRowType; width > 2 {
		return f, t.errorf(infoAt, fieldInfo[v], "rows of type %d are not known", width)
	}
	f.bits |= traits(info&infoRowType) << widthShift
	unused := uint8(infoUnused)
	if h.Version < 3 {
		unused |= infoSignal
	}
	switch {
	case info&unused != 0:
		return f, t.errorf(infoAt, fieldInfo[v], "bits %#x are not known in version %d", info&unused, h.Version)
	case info2&^info2Type != 0:
		return f, t.errorf(infoAt+1, "sfda_func_info2", "bits %#x are not known", info2&^info2Type)
	case info2&info2Type > typeFlex:
		return f, t.errorf(infoAt+1, "sfda_func_info2", "functions of type %d are not known", info2&info2Type)
	case info2&info2Type == typeFlex:
		f.bits |= bitFlexible
	}
	if info&infoSignal != 0 {
		f.bits |= bitSignal
	}
	if info&infoKeyB != 0 {
		f.bits |= bitKeyB
	}
	if info&infoMask == 0 {
		f.block = 0 // set or not, it means nothing
		return f, nil
	}
	if h.Version == 1 {
		if h.Arch != unwind.AMD64 {
			return f, t.errorf(infoAt, fieldInfo[v], "version 1 does not say how large repeated code is on %v", h.Arch)
		}
		f.block = blockV1
	}
	if f.block == 0 {
		return f, t.errorf(blockAt, fieldBlock[v], "repeated code has no size")
	}
	return f, nil
}

// uintN reads a number of 1, 2 or 4 bytes.
func uintN(p []byte, size uint8, big bool) uint32 {
	switch {
	case size == 1:
		return uint32(p[0])
	case size == 2 && big:
		return uint32(binary.BigEndian.Uint16(p))
	case size == 2:
		return uint32(binary.LittleEndian.Uint16(p))
	case big:
		return binary.BigEndian.Uint32(p)
	}
	return binary.LittleEndian.Uint32(p)
}

// intN reads a number of 1, 2 or 4 bytes in two's complement.
func intN(p []byte, size uint8, big bool) int32 {
	shift := 32 - 8*size
	return int32(uintN(p, size, big)<<shift) >> shift
}
