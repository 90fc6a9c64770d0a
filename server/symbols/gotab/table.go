package gotab

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"sort"
)

// Magic numbers, from internal/abi/symtab.go.
const (
	magicGo12  = 0xfffffffb
	magicGo116 = 0xfffffffa
	magicGo118 = 0xfffffff0
	magicGo120 = 0xfffffff1
)

const (
	functabEntrySize = 8  // entryOff, funcOff: two 32-bit words
	funcSize         = 44 // fixed part of runtime._func
	headerWords      = 8  // pointer-size words after the first 8 bytes
)

// A Table is a decoded pclntab. It refers to the bytes it was parsed from,
// which must not change, and is safe for concurrent use.
type Table struct {
	order     binary.ByteOrder
	ptrSize   int    // 4 or 8
	quantum   uint64 // unit of PC deltas: 1 on x86, 2 on s390x, 4 on arm64
	textStart uint64
	header    uint64 // the obsolete textStart word
	offsets   [5]uint64

	nfunc    int
	functab  []byte // nfunc entries and the end offset
	funcs    []byte // what funcOff points into; starts where functab starts
	names    []byte
	cutab    []byte
	files    []byte
	pctab    []byte
	funcdata []byte // go:func.*, nil where the caller has not given it
}

// Parse decodes a table's header and its list of functions; everything else is
// decoded at lookup. textStart is the link-time address of runtime.text (see
// the package comment), order the image's byte order.
//
// It fails with a *[VersionError] or a *[FormatError].
func Parse(pclntab []byte, textStart uint64, order binary.ByteOrder) (*Table, error) {
	if len(pclntab) < 8 {
		return nil, &FormatError{uint64(len(pclntab)), "shorter than its header"}
	}
	if magic := order.Uint32(pclntab); magic != magicGo120 {
		return nil, &VersionError{magic}
	}
	t := &Table{order: order, quantum: uint64(pclntab[6]), ptrSize: int(pclntab[7])}
	switch {
	case pclntab[4] != 0 || pclntab[5] != 0:
		return nil, &FormatError{4, "padding is not zero"}
	case t.quantum != 1 && t.quantum != 2 && t.quantum != 4:
		return nil, &FormatError{6, fmt.Sprintf("instruction size %d is not 1, 2 or 4", t.quantum)}
	case t.ptrSize != 4 && t.ptrSize != 8:
		return nil, &FormatError{7, fmt.Sprintf("pointer size %d is not 4 or 8", t.ptrSize)}
	case len(pclntab) < 8+headerWords*t.ptrSize:
		return nil, &FormatError{uint64(len(pclntab)), "shorter than its header"}
	}
	if err := t.sections(pclntab); err != nil {
		return nil, err
	}
	if err := t.checkFunctab(); err != nil {
		return nil, err
	}
	return t.WithTextStart(textStart)
}

// sections cuts the table into its parts. They have no stored lengths: each
// ends where the next begins, because the linker writes them in this order.
// A part that runs on to the end of the table does no harm to lookups, so only
// the starts are checked.
func (t *Table) sections(pclntab []byte) error {
	size := uint64(len(pclntab))
	nfunc := t.word(pclntab[8:])
	t.header = t.word(pclntab[8+2*t.ptrSize:])
	for i := range t.offsets {
		at := 8 + (3+i)*t.ptrSize
		off := t.word(pclntab[at:])
		if off > size {
			return &FormatError{uint64(at), fmt.Sprintf("part %d starts at %#x, after the table's end %#x", i, off, size)}
		}
		t.offsets[i] = off
	}
	t.names = pclntab[t.offsets[0]:]
	t.cutab = pclntab[t.offsets[1]:]
	t.files = pclntab[t.offsets[2]:]
	t.pctab = pclntab[t.offsets[3]:]
	t.funcs = pclntab[t.offsets[4]:]
	// An end offset follows the last function's entry.
	if len(t.funcs) < 4 || nfunc > uint64(len(t.funcs)-4)/functabEntrySize {
		return &FormatError{8, fmt.Sprintf("%d functions do not fit into %d bytes", nfunc, len(t.funcs))}
	}
	t.nfunc = int(nfunc)
	t.functab = t.funcs[:t.nfunc*functabEntrySize+4]
	return nil
}

// checkFunctab makes sure that binary search may be used: the runtime refuses
// an unsorted table too (moduledataverify1).
func (t *Table) checkFunctab() error {
	prev := uint32(0)
	for i := 0; i <= t.nfunc; i++ {
		off := t.entryOff(i)
		if off < prev {
			return &FormatError{t.offsets[4] + uint64(i)*functabEntrySize,
				fmt.Sprintf("function %d at %#x after one at %#x: not sorted", i, off, prev)}
		}
		prev = off
	}
	return nil
}

// WithTextStart returns the same table for another address of runtime.text.
// It fails with a *[FormatError] if the text would not fit below 2^64 (2^32 for
// 32-bit images).
func (t *Table) WithTextStart(textStart uint64) (*Table, error) {
	limit := uint64(math.MaxUint64)
	if t.ptrSize == 4 {
		limit = math.MaxUint32
	}
	if size := uint64(t.entryOff(t.nfunc)); textStart > limit || size > limit-textStart {
		return nil, &FormatError{t.offsets[4] + uint64(t.nfunc)*functabEntrySize,
			fmt.Sprintf("text of %#x bytes at %#x exceeds the address space", size, textStart)}
	}
	c := *t
	c.textStart = textStart
	return &c, nil
}

// WithFuncData returns the same table with the contents of the symbol "go:func.*",
// which inlined calls need ([Func.Calls]).
func (t *Table) WithFuncData(data []byte) *Table {
	c := *t
	c.funcdata = data
	return &c
}

// HeaderText is the header's own textStart word: the address of runtime.text in
// position-dependent binaries of Go 1.20 to 1.25; zero otherwise.
func (t *Table) HeaderText() uint64 { return t.header }

// Len is the number of functions.
func (t *Table) Len() int { return t.nfunc }

// Bounds returns the text that the table covers: [start, end).
func (t *Table) Bounds() (start, end uint64) { return t.entry(0), t.entry(t.nfunc) }

// At returns the i-th function in address order. ok is false if i is out of
// range or the function's record lies outside the table.
func (t *Table) At(i int) (f Func, ok bool) {
	if i < 0 || i >= t.nfunc {
		return Func{}, false
	}
	off := t.order.Uint32(t.functab[i*functabEntrySize+4:])
	if uint64(off) > uint64(len(t.funcs)) || len(t.funcs)-int(off) < funcSize {
		return Func{}, false
	}
	rec := t.funcs[off:]
	u32 := func(word int) uint32 { return t.order.Uint32(rec[word*4:]) }
	return Func{
		Entry:     t.entry(i),
		End:       t.entry(i + 1),
		StartLine: int32(u32(9)),
		Flag:      Flag(rec[41]),
		t:         t,
		rec:       off,
		nameOff:   u32(1),
		pcsp:      u32(4),
		pcfile:    u32(5),
		pcln:      u32(6),
		npcdata:   u32(7),
		cuOffset:  u32(8),
		nfuncdata: rec[43],
	}, true
}

// Func returns the function that contains pc, an instruction's address: a
// return address must be turned into its call's address first. It allocates
// nothing.
func (t *Table) Func(pc uint64) (f Func, ok bool) {
	i, ok := t.index(pc)
	if !ok {
		return Func{}, false
	}
	return t.At(i)
}

func (t *Table) index(pc uint64) (int, bool) {
	if t.nfunc == 0 || pc < t.entry(0) || pc >= t.entry(t.nfunc) {
		return 0, false
	}
	off := uint32(pc - t.textStart) // below entryOff(nfunc): fits
	i := sort.Search(t.nfunc, func(i int) bool { return t.entryOff(i) > off })
	return i - 1, true
}

func (t *Table) entryOff(i int) uint32 { return t.order.Uint32(t.functab[i*functabEntrySize:]) }

func (t *Table) entry(i int) uint64 { return t.textStart + uint64(t.entryOff(i)) }

// word reads a pointer-size word; the caller has checked the length.
func (t *Table) word(b []byte) uint64 {
	if t.ptrSize == 4 {
		return uint64(t.order.Uint32(b))
	}
	return t.order.Uint64(b)
}

// cstring returns the NUL-terminated string at off without its terminator, nil
// if there is none.
func cstring(b []byte, off uint64) []byte {
	if off < uint64(len(b)) {
		if text, _, ended := bytes.Cut(b[off:], []byte{0}); ended {
			return text
		}
	}
	return nil
}
