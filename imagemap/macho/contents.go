package macho

import (
	"errors"
	"io"
)

// maxContents bounds one read, in bytes.
const maxContents = 1 << 30

// Data reads the contents of a section. A section without contents in the file
// (zero-filled memory) has none. The error is an [*Error] or the reader's.
func (f *File) Data(s *Section) ([]byte, error) {
	if s.empty() || s.Offset == 0 {
		return nil, nil
	}
	return f.read(extent{s.Offset, s.Size}, s.Name)
}

// Command reads the data that a load command names, nil where there is no such
// command. [FunctionStarts] is the one that is known.
func (f *File) Command(command uint32) ([]byte, error) {
	e, ok := f.data[command]
	if !ok {
		return nil, nil
	}
	return f.read(e, "the data of a load command")
}

// Contents reads up to n bytes at an address, as far as the file has them: nil
// where no segment does.
func (f *File) Contents(addr uint64, n int) []byte {
	for i := range f.Segments {
		s := &f.Segments[i]
		if at := addr - s.Addr; addr >= s.Addr && at < min(s.Data, s.Size) && n > 0 {
			buf := make([]byte, min(uint64(n), min(s.Data, s.Size)-at, maxContents))
			got, err := f.r.ReadAt(buf, int64(s.Offset+at))
			if err != nil && !errors.Is(err, io.EOF) {
				return nil
			}
			return buf[:got]
		}
	}
	return nil
}

// read reads a piece, all of it or an error. Where the size is nonsense the data
// ends before much is read of it.
func (f *File) read(e extent, what string) ([]byte, error) {
	if e.offset > maxOffset || e.size > maxContents {
		return nil, errorf(e.offset, "%s: %d bytes at offset %#x", what, e.size, e.offset)
	}
	const piece = 1 << 20
	var out []byte
	for uint64(len(out)) < e.size {
		n := min(e.size-uint64(len(out)), piece)
		buf := make([]byte, n)
		got, err := f.r.ReadAt(buf, int64(e.offset)+int64(len(out)))
		if uint64(got) < n {
			return nil, cutOff(e.offset, what, err)
		}
		if out == nil && n == e.size {
			return buf, nil
		}
		out = append(out, buf...)
	}
	return out, nil
}
