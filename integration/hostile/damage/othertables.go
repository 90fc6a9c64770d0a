package damage

import "encoding/binary"

// sframeRows lists the offsets in all rows of an SFrame table of version 2 or 3, as the
// specification has them, and the fixed place of the return address.
func sframeRows(data []byte) (out []field) {
	const header = 28
	if len(data) < header {
		return nil
	}
	out = append(out, field{Field: plain(6, 1), scale: 1, what: "fixed place of the return address"})
	functions, rows := header+u32(data, 20)+int(data[7]), header+u32(data, 24)+int(data[7])
	for i := range u32(data, 8) {
		var at, n int
		var info byte
		if data[2] == 3 {
			at = rows + u32(data, functions+16*i+12)
			n, info, at = int(binary.LittleEndian.Uint16(data[at:])), data[at+2], at+5
		} else {
			entry := functions + 20*i
			at, n, info = rows+u32(data, entry+8), u32(data, entry+12), data[entry+16]
		}
		start := 1 << (info & 15) // bytes of a row's address
		for range n {
			if at+start >= len(data) {
				return out
			}
			row := data[at+start]
			size, count := 1<<(row>>5&3), int(row>>1&15)
			at += start + 1
			for k := range count {
				if at+size <= len(data) {
					out = append(out, field{Field: plain(at, size), scale: 1, cfa: k == 0, what: "row's offset"})
				}
				at += size
			}
		}
	}
	return out
}

// encodings lists the parts of all compact encodings (compact_unwind_encoding.h): the
// sizes of frames, in words, and which registers they hold; and the indices of functions'
// encodings.
func encodings(data []byte) (out []field) {
	encoding := func(at int) {
		if at+4 <= len(data) {
			out = append(out, field{Field: plain(at+2, 1), scale: 8, cfa: true, what: "frame's size"},
				field{Field: plain(at, 2), scale: 1, what: "registers"})
		}
	}
	list := func(at, n int) {
		for i := range n {
			encoding(at + 4*i)
		}
	}
	u16 := func(at int) int { return u32(data, at) & 0xffff }
	list(u32(data, 4), u32(data, 8))
	for i := range u32(data, 24) {
		page := u32(data, u32(data, 20)+12*i+4)
		entries, n := page+u16(page+4), u16(page+6)
		switch kind := u32(data, page); {
		case page == 0:
		case kind == 2:
			for k := range n {
				encoding(entries + 8*k + 4)
			}
		case kind == 3:
			list(page+u16(page+8), u16(page+10))
			for k := range n {
				out = append(out, field{Field: plain(entries+4*k+3, 1), scale: 1, below: u32(data, 8) + u16(page+10), what: "index of an encoding"})
			}
		}
	}
	return out
}
