package macho

import (
	"errors"
	"io"
)

// MaxContents bounds one read, of a section too, in bytes: a file with holes claims any size.
const MaxContents = 256 << 20

// Data reads the contents of a section. A section without contents in the file
// (zero-filled memory) has none. The error is an [*Error] or the reader's.
func (f *File) Data(s *Section) ([]byte, error) {
	if s.Held() == 0 {
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
			buf := make([]byte, min(uint64(n), min(s.Data, s.Size)-at, MaxContents))
			got, err := f.r.ReadAt(buf, int64(s.Offset+at))
			if err != nil && !errors.Is(err, io.EOF) {
				return nil
			}
			return buf[:got]
		}
	}
	return nil
}

// Held is how many bytes the file has, or claims to have, for a section.
func (s *Section) Held() uint64 {
	if s.empty() || s.Offset == 0 {
		return 0
	}
	return s.Size
}

// read reads a piece, all of it or an error. Where the size is nonsense its last byte
// is not there, and nothing is allocated.
func (f *File) read(e extent, what string) ([]byte, error) {
	if e.offset > maxOffset || e.size > MaxContents {
		return nil, errorf(e.offset, "%s: %d bytes at offset %#x", what, e.size, e.offset)
	}
	if e.size == 0 {
		return nil, nil
	}
	if n, err := f.r.ReadAt(make([]byte, 1), int64(e.offset+e.size-1)); n == 0 {
		return nil, cutOff(e.offset, what, err)
	}
	out := make([]byte, e.size)
	if n, err := f.r.ReadAt(out, int64(e.offset)); n < len(out) {
		return nil, cutOff(e.offset, what, err)
	}
	return out, nil
}
