package damage

// Opcodes of call-frame information (DWARF 5, table 7.29), with their operands: r a
// register, o an offset in units of the data alignment, c an offset of the CFA, a an argument
// that is no offset, d a distance in the code, 1, 2 and 4 bytes wide, b a block.
var operands = map[byte]string{
	0x00: "", 0x02: "1", 0x03: "2", 0x04: "4", 0x05: "ro", 0x06: "r", 0x07: "r", 0x08: "r", 0x09: "rr", 0x0a: "", 0x0b: "",
	0x0c: "rc", 0x0d: "r", 0x0e: "c", 0x0f: "b", 0x10: "rb", 0x16: "rb", 0x2d: "", 0x2e: "a",
}

// callFrames lists the fields of the FDEs that describe places in the code; start is where
// the section lies. Entries of other forms than gcc's and clang's are left out.
func callFrames(data []byte, start uint64, places []uint64) (out []field) {
	for at := 0; at+8 < len(data); {
		n := u32(data, at)
		if n == 0 || n > len(data)-at-4 {
			break
		}
		entry, end := at, at+4+n
		at = end
		if u32(data, entry+4) != 0 && entry+17 <= end && describes(data, entry, start, places) {
			out = append(out, operandsOf(data[:end], entry+17+int(data[entry+16]))...)
		}
	}
	return out
}

// describes reports whether an FDE with 4-byte relative pointers covers a place.
func describes(data []byte, entry int, start uint64, places []uint64) bool {
	low := start + uint64(entry) + 8 + uint64(int32(u32(data, entry+8)))
	for _, at := range places {
		if at >= low && at < low+uint64(u32(data, entry+12)) {
			return true
		}
	}
	return false
}

// operandsOf lists the numbers of a program of call-frame instructions.
func operandsOf(data []byte, at int) (out []field) {
	for at < len(data) {
		op := data[at]
		at++
		want, known := operands[op]
		switch op >> 6 {
		case 1:
			out = append(out, field{Field: plain(at-1, 1), scale: 1, what: "advance"}) // also makes other instructions of it
			continue
		case 2:
			want, known = "o", true
		case 3:
			continue
		}
		if !known {
			return out
		}
		for _, kind := range want {
			f, ok := field{Field: plain(at, int(kind-'0')), scale: 1, what: "advance"}, true
			if kind > '4' {
				f, ok = uleb(data, at)
			}
			if !ok || f.Off+f.Size > len(data) {
				return out
			}
			at += f.Size
			switch kind {
			case 'b':
				at += int(f.Get(data))
			case 'c':
				f.cfa, f.what = true, "CFA's offset"
			case 'o':
				f.scale, f.what = 8, "place of a register"
			case 'r':
				f.what = "register"
			}
			if kind != 'a' && kind != 'b' {
				out = append(out, f)
			}
		}
	}
	return out
}
