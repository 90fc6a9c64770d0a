package cfi

import (
	"fmt"
	"sort"

	"github.com/clewdbg/clew/unwind"
)

// header is .eh_frame_hdr (LSB 5, 10.6.2): where .eh_frame is, and a table of
// FDEs sorted by the start of their code.
type header struct {
	section Section
	big     bool
	frame   uint64 // address of .eh_frame
	table   int    // offset of the table
	count   int    // of its entries; 0 where it cannot be used
	size    int    // of one value, 4 or 8
	problem *Error
}

// parseHeader reads a header. The table counts only where it is complete and
// sorted, and has values relative to the header, which can be searched.
func parseHeader(s Section, big bool, addrSize int, bias uint64) (h header) {
	h = header{section: s, big: big}
	fail := func(format string, args ...any) header {
		h.problem = &Error{Section: s.Name, Reason: fmt.Sprintf(format, args...)}
		return h
	}
	r := reader{data: s.Data, big: big}
	version, frameEnc, countEnc, tableEnc := r.byte(), r.byte(), r.byte(), r.byte()
	if r.failed {
		return fail("it is cut off")
	}
	if version != 1 {
		return fail("version %d is not known", version)
	}
	at := s.Addr + uint64(r.pos)
	if frameEnc != peOmit {
		v := number(&r, frameEnc, addrSize)
		switch frameEnc &^ peFormat {
		case peAbsptr:
			h.frame = v + bias
		case pePCRel:
			h.frame = v + at
		case peDataRel:
			h.frame = v + s.Addr
		default:
			return fail("encoding %#x of the address of .eh_frame is not known", frameEnc)
		}
	}
	if countEnc == peOmit || tableEnc == peOmit {
		if r.failed {
			return fail("it is cut off")
		}
		return h
	}
	if countEnc&^peFormat != peAbsptr {
		return fail("encoding %#x of the number of entries is not known", countEnc)
	}
	count := number(&r, countEnc, addrSize)
	size := formatSize(tableEnc, addrSize)
	switch {
	case r.failed:
		return fail("it is cut off")
	case tableEnc&^peFormat != peDataRel || size != 4 && size != 8:
		return fail("encoding %#x of the table cannot be searched", tableEnc)
	case count > uint64(r.left()/(2*size)):
		return fail("the table has %d entries, the section has room for %d", count, r.left()/(2*size))
	}
	h.table, h.count, h.size = r.pos, int(count), size
	for i, last := 0, uint64(0); i < h.count; i++ {
		start, _ := h.entry(i)
		if i > 0 && start < last {
			h.count = 0
			return fail("the table is not sorted at entry %d", i)
		}
		last = start
	}
	return h
}

// entry returns the start of the code and the address of the FDE.
func (h *header) entry(i int) (start, fde uint64) {
	r := reader{data: h.section.Data, pos: h.table + 2*h.size*i, big: h.big}
	start = uint64(r.signed(h.size)) + h.section.Addr
	return start, uint64(r.signed(h.size)) + h.section.Addr
}

// find searches the header's table for the FDE of an address. What it says is
// believed only where the FDE itself agrees; ok is false where it does not, or
// where the table cannot tell.
func (t *Table) findByHeader(addr uint64) (f FDE, ok bool) {
	h := &t.header
	i := sort.Search(h.count, func(i int) bool { start, _ := h.entry(i); return start > addr }) - 1
	if i < 0 {
		return FDE{}, false
	}
	start, at := h.entry(i)
	f, live, err := t.at(at - t.section.Addr)
	if err != nil || !live || f.Start != start || !f.Contains(addr) || !t.admits(&f) || t.verify(new(machine), &f) != nil {
		return FDE{}, false
	}
	return f, true
}

// ErrNoFrame says that a header leads to no .eh_frame.
type ErrNoFrame struct{ Reason string }

// Error returns the reason.
func (e *ErrNoFrame) Error() string { return e.Reason }

// SplitSegment finds .eh_frame by its header, for programs without section
// headers: data is what the target has from the header's address (that of the
// program header PT_GNU_EH_FRAME) to the end of the segment, before what the
// segment has in front of that, as far as known. Where .eh_frame ends is not known:
// use [Options.OpenEnded].
func SplitSegment(addr uint64, data, before []byte, arch unwind.Arch, bias uint64) (hdr, frame Section, err error) {
	hdr = Section{Name: ".eh_frame_hdr", Addr: addr, Data: data}
	big := arch.ByteOrder().Uint16([]byte{0, 1}) == 1
	h := parseHeader(hdr, big, arch.PointerSize(), bias)
	frame = Section{Name: ".eh_frame", Kind: EHFrame, Addr: h.frame}
	start := addr - uint64(len(before))
	switch {
	case h.frame == 0 && h.problem != nil:
		return hdr, Section{}, h.problem
	case h.frame == 0:
		return hdr, Section{}, &ErrNoFrame{Reason: ".eh_frame_hdr does not say where .eh_frame is"}
	case h.frame >= addr && h.frame-addr < uint64(len(data)):
		frame.Data = data[h.frame-addr:]
	case h.frame < addr && h.frame >= start && start <= addr:
		frame.Data = before[h.frame-start:]
	default:
		return hdr, Section{}, &ErrNoFrame{Reason: fmt.Sprintf(".eh_frame at %#x lies outside what is known of the segment, [%#x, %#x)",
			h.frame, start, addr+uint64(len(data)))}
	}
	return hdr, frame, nil
}
