package sframe

import (
	"encoding/binary"
	"fmt"

	"github.com/clewdbg/clew/unwind"
)

// Flags of a table.
const (
	FlagSorted       = 1 // functions are sorted by address
	FlagFramePointer = 2 // all functions keep the frame pointer; versions 1 and 2
	FlagPCRelative   = 4 // a function's start is relative to its field; 2 (errata 1) and 3
)

// Identifiers of ABIs.
const (
	abiARM64Big    = 1
	abiARM64Little = 2
	abiAMD64       = 3
	abiS390X       = 4
)

const (
	magic      = 0xdee2
	headerSize = 28
)

// callRA is the place of a call's return address on amd64, relative to the CFA.
// On the others it is in a register, and code may save it anywhere.
const callRA = -8

// Header is the header of one table.
type Header struct {
	Offset  uint64 // of the table in the section
	Version uint8
	Flags   uint8
	Arch    unwind.Arch
	Big     bool // big-endian
	// FixedFP and FixedRA are the places of the caller's frame pointer and the
	// return address in every frame of the table, relative to the CFA; 0 for none.
	FixedFP, FixedRA int8
	Functions, Rows  uint32

	// shapes describe rows with rules by position, by their number of words, and
	// unsound holds the bits of their info byte that need a closer look.
	shapes  [maxWords + 1]shape
	counts  uint16 // a bit for each number of words that they can have
	unsound uint8
	base    [2]unwind.Register // of a CFA: frame pointer, stack pointer
	// ra and fp are the rules where a row has no word for them.
	ra, fp Rule

	functions int // offset of the first function in the section
	rows      int // of the first row
	rowsEnd   int
}

// order is the table's byte order.
func (h *Header) order() binary.ByteOrder {
	if h.Big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// Generation names the version with its errata: "1", "2", "2 errata 1", "3".
func (h *Header) Generation() string {
	if h.Version == 2 && h.Flags&FlagPCRelative != 0 {
		return "2 errata 1"
	}
	return fmt.Sprint(h.Version)
}

// entrySize is the size of a function's fixed part.
func (h *Header) entrySize() int {
	return [...]int{1: 17, 2: 20, 3: 16}[h.Version]
}

// knownFlags are those that a version has.
func (h *Header) knownFlags() uint8 {
	return [...]uint8{1: FlagSorted | FlagFramePointer, 2: FlagSorted | FlagFramePointer | FlagPCRelative,
		3: FlagSorted | FlagPCRelative}[h.Version]
}

// isMagic reports whether data begins as a table does, and in which byte order.
func isMagic(data []byte) (big, ok bool) {
	if len(data) < 2 {
		return false, false
	}
	return data[0] == magic>>8, binary.LittleEndian.Uint16(data) == magic || binary.BigEndian.Uint16(data) == magic
}

// header reads and checks the header at an offset.
func (t *reading) header(at int) (h Header, bad *Error) {
	data := t.section.Data[at:]
	fail := func(off int, field, format string, args ...any) (Header, *Error) {
		return h, t.errorf(at+off, field, format, args...)
	}
	big, ok := isMagic(data)
	if !ok {
		return fail(0, "sfp_magic", "%#x is no SFrame table", data[:min(2, len(data))])
	}
	h.Offset, h.Big = uint64(at), big
	if len(data) < headerSize {
		return fail(0, "sframe_header", "it is cut off: %d of %d bytes", len(data), headerSize)
	}
	order := h.order()
	h.Version, h.Flags = data[2], data[3]
	if h.Version < 1 || h.Version > 3 {
		return fail(2, "sfp_version", "version %d is not known", h.Version)
	}
	if unknown := h.Flags &^ h.knownFlags(); unknown != 0 {
		return fail(3, "sfp_flags", "flags %#x are not known in version %d", unknown, h.Version)
	}
	abiBig := true
	switch abi := data[4]; {
	case abi == abiARM64Big:
		h.Arch = unwind.ARM64
	case abi == abiARM64Little:
		h.Arch, abiBig = unwind.ARM64, false
	case abi == abiAMD64:
		h.Arch, abiBig = unwind.AMD64, false
	case abi == abiS390X && h.Version > 1:
		h.Arch = unwind.S390X
	default:
		return fail(4, "sfh_abi_arch", "ABI %d is not known in version %d", abi, h.Version)
	}
	switch {
	case abiBig != big:
		return fail(4, "sfh_abi_arch", "ABI %d has another byte order than the table", data[4])
	case t.opts.Arch != unwind.ArchUnknown && t.opts.Arch != h.Arch:
		return fail(4, "sfh_abi_arch", "the table is for %v, the program for %v", h.Arch, t.opts.Arch)
	}
	h.FixedFP, h.FixedRA = int8(data[5]), int8(data[6])
	if h.Arch == unwind.AMD64 && h.FixedRA != callRA || h.Arch != unwind.AMD64 && h.FixedRA != 0 {
		return fail(6, "sfh_cfa_fixed_ra_offset", "return addresses on %v are not at CFA%+d", h.Arch, h.FixedRA)
	}
	h.Functions, h.Rows = order.Uint32(data[8:]), order.Uint32(data[12:])
	rowBytes, functions, rows := uint64(order.Uint32(data[16:])), uint64(order.Uint32(data[20:])), uint64(order.Uint32(data[24:]))
	size := uint64(headerSize) + uint64(data[7])
	if size > uint64(len(data)) {
		return fail(7, "sfh_auxhdr_len", "%d bytes run past the section's end", data[7])
	}
	room := uint64(len(data)) - size
	switch {
	case functions > rows:
		return fail(20, "sfh_fdeoff", "functions at %#x lie behind rows at %#x", functions, rows)
	case rows > room:
		return fail(24, "sfh_freoff", "rows at %#x lie behind the section's end, %#x", rows, room)
	case rowBytes > room-rows:
		return fail(16, "sfh_fre_len", "%d bytes of rows run past the section's end by %d", rowBytes, rowBytes-(room-rows))
	case uint64(h.Functions)*uint64(h.entrySize()) > rows-functions:
		return fail(8, "sfh_num_fdes", "%d functions do not fit in %d bytes", h.Functions, rows-functions)
	case uint64(h.Rows)*2 > rowBytes:
		return fail(12, "sfh_num_fres", "%d rows do not fit in %d bytes", h.Rows, rowBytes)
	}
	h.shape()
	h.functions = at + int(size+functions)
	h.rows = at + int(size+rows)
	h.rowsEnd = h.rows + int(rowBytes)
	return h, nil
}

// maxWords is the largest number of words in a row with rules by position.
const maxWords = 3

// shape holds the indexes of a row's words for the return address and for the
// frame pointer; 0 for none. The first is the CFA's.
type shape struct {
	ok      bool
	quick   bool // the words are the offsets
	topOnly bool // the return address is in its register
	ra, fp  uint8
}

// shape computes the possible words of rows, see plain.
func (h *Header) shape() {
	h.base = [2]unwind.Register{h.Arch.FP(), h.Arch.SP()}
	if h.FixedRA != 0 {
		h.ra = Rule{Kind: FromCFA, Deref: true, Offset: int32(h.FixedRA)}
	}
	if h.FixedFP != 0 {
		h.fp = Rule{Kind: FromCFA, Deref: true, Offset: int32(h.FixedFP)}
	}
	if h.Arch != unwind.ARM64 {
		h.unsound = rowMangled
	}
	if h.Arch == unwind.S390X {
		h.unsound = 0xff
	}
	for n := 1; n <= maxWords; n++ {
		s, next := shape{}, 1
		if h.FixedRA == 0 && next < n {
			s.ra = uint8(next)
			next++
		}
		if h.FixedFP == 0 && next < n {
			s.fp = uint8(next)
			next++
		}
		s.topOnly = h.FixedRA == 0 && s.ra == 0
		s.ok = next == n && (!s.topOnly || h.Arch.LR() != unwind.NoRegister)
		s.quick = s.ok && h.Arch != unwind.S390X
		if s.ok {
			h.counts |= 1 << n
		}
		h.shapes[n] = s
	}
}
