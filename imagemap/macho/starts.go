package macho

// Functions returns the addresses of the image's functions, ascending, as the linker
// lists them (LC_FUNCTION_STARTS): the distance of each from the one before, the
// first from the header, in ULEB128, up to a zero. A number that cannot be decoded
// ends the list, with an [*Error].
func (f *File) Functions() ([]uint64, error) {
	raw, err := f.Command(FunctionStarts)
	if err != nil {
		return nil, err
	}
	var out []uint64
	at := f.Base()
	for i := 0; i < len(raw); {
		delta, n := uleb(raw[i:])
		if n == 0 {
			return out, errorf(f.data[FunctionStarts].offset+uint64(i), "a distance between functions does not end")
		}
		if delta == 0 {
			break
		}
		if at+delta < at {
			return out, errorf(f.data[FunctionStarts].offset+uint64(i), "a function beyond the end of the address space")
		}
		at += delta
		out = append(out, at)
		i += n
	}
	return out, nil
}

// uleb decodes a number and returns its length; 0 where it does not end or is too
// large.
func uleb(raw []byte) (v uint64, n int) {
	for shift := uint(0); n < len(raw) && shift < 63; shift += 7 {
		b := raw[n]
		n++
		v |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			return v, n
		}
	}
	return 0, 0
}
