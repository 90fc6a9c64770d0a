package macho

import "encoding/binary"

// maxFunctions is more than any image has.
const maxFunctions = 4 << 20

// Functions returns the addresses of the image's functions, ascending, as the linker
// lists them (LC_FUNCTION_STARTS): the distance of each from the one before, the
// first from the header, in ULEB128, up to a zero. A number that cannot be decoded,
// or more functions than an image has, ends the list, with an [*Error].
func (f *File) Functions() ([]uint64, error) {
	raw, err := f.Command(FunctionStarts)
	if err != nil {
		return nil, err
	}
	var out []uint64
	at := f.Base()
	for i := 0; i < len(raw); {
		delta, n := binary.Uvarint(raw[i:])
		if n <= 0 {
			return out, errorf(f.data[FunctionStarts].offset+uint64(i), "a distance between functions does not end")
		}
		if delta == 0 {
			break
		}
		if at+delta < at {
			return out, errorf(f.data[FunctionStarts].offset+uint64(i), "a function beyond the end of the address space")
		}
		if len(out) == maxFunctions {
			return out, boundf(f.data[FunctionStarts].offset, "more than %d functions", maxFunctions)
		}
		at += delta
		out = append(out, at)
		i += n
	}
	return out, nil
}
