package gotab

import (
	"bytes"
	"encoding/binary"
)

// Words of runtime.moduledata: pcHeader, then six slices of three words, findfunctab,
// minpc, maxpc, text, etext, ..., types, etypes, rodata, gofunc. Go 1.27 has the length of
// the descriptors between types and etypes, and two words more before gofunc.
const (
	moduleMinPC  = 20
	moduleMaxPC  = 21
	moduleText   = 22
	moduleTypes  = 37
	moduleETypes = 38
	moduleGoFunc = 40
	go127ETypes  = 39
	go127GoFunc  = 43
	// maxCandidates bounds the search through data full of magic numbers.
	maxCandidates = 64
	// ModuleWords is how many pointer-size words of a moduledata are looked at.
	ModuleWords = go127GoFunc + 1
)

// A Module is the contents of a runtime.moduledata.
type Module struct {
	Text   uint64 // link-time address of runtime.text
	GoFunc uint64 // link-time address of go:func.*; see [Table.WithFuncData]
	// Types and ETypes are where type descriptors begin and end.
	Types, ETypes uint64
}

// Module reads data as the start of the runtime.moduledata that belongs to this
// table, which lies at pclntabAddr. Relocations must have been applied: in a
// position-independent file the words are zero.
//
// It is recognised by its contents, so any memory may be tried: the first word
// points to the table, the slices that follow are the table's parts at their
// places, and the PC bounds agree with the list of functions.
func (t *Table) Module(data []byte, pclntabAddr uint64) (m Module, ok bool) {
	if len(data) < ModuleWords*t.ptrSize || t.nfunc == 0 {
		return Module{}, false
	}
	word := func(i int) uint64 { return t.word(data[i*t.ptrSize:]) }
	if word(0) != pclntabAddr {
		return Module{}, false
	}
	for i, off := range t.offsets {
		if word(1+3*i) != pclntabAddr+off {
			return Module{}, false
		}
	}
	text := word(moduleText)
	if word(moduleMinPC) != text+uint64(t.entryOff(0)) || word(moduleMaxPC) != text+uint64(t.entryOff(t.nfunc)) {
		return Module{}, false
	}
	m = Module{Text: text, GoFunc: word(moduleGoFunc), Types: word(moduleTypes), ETypes: word(moduleETypes)}
	// A length behind types, as no earlier release has it: types and an address are above
	// rodata together.
	if end := m.Types + word(moduleETypes); end > m.Types && end <= word(go127ETypes) {
		m.GoFunc, m.ETypes = word(go127GoFunc), word(go127ETypes)
	}
	return m, true
}

// Find looks for tables in data, a read-only data section, from the given
// offset on. It returns the first that parses, with textStart 0, and its offset,
// or nil. The caller confirms it by its moduledata: the bytes of the magic number
// may stand in a program that reads such tables.
//
// Situation: Go before 1.26 keeps the table of a position-independent program in
// .data.rel.ro.gopclntab, and GNU ld puts that into .data.rel.ro without trace
// (a cgo program built with -buildmode=pie).
func Find(data []byte, from int, order binary.ByteOrder) (t *Table, offset int) {
	pattern := make([]byte, 6) // magic and padding
	order.PutUint32(pattern, magicGo120)
	at := from
	for range maxCandidates {
		if at < 0 || at >= len(data) {
			break
		}
		i := bytes.Index(data[at:], pattern)
		if i < 0 {
			break
		}
		at += i
		if t, err := Parse(data[at:], 0, order); err == nil && t.nfunc > 0 {
			return t, at
		}
		at++
	}
	return nil, 0
}

// FindModule looks for the table's moduledata in data, a data section with
// relocations applied. It returns the offset as well.
func (t *Table) FindModule(data []byte, pclntabAddr uint64) (m Module, offset int, ok bool) {
	pattern := make([]byte, t.ptrSize)
	if t.ptrSize == 4 {
		t.order.PutUint32(pattern, uint32(pclntabAddr))
	} else {
		t.order.PutUint64(pattern, pclntabAddr)
	}
	for at := 0; ; {
		i := bytes.Index(data[at:], pattern)
		if i < 0 {
			return Module{}, 0, false
		}
		at += i
		if m, ok := t.Module(data[at:], pclntabAddr); ok {
			return m, at, true
		}
		at++
	}
}
