package macho

import (
	"errors"
	"io"
	"strings"
)

// DWARFSegment holds DWARF. It is in separate debug files, and in Go's programs.
const DWARFSegment = "__DWARF"

// Bounds of a section, in bytes: a file with holes claims any size.
const (
	maxContents = 256 << 20 // that is read as a whole
	MaxDebug    = 4 << 30   // of debugging information, which [File.Reader] reads where it is needed
)

// Most is how many bytes of a section are read; one that has more is not read at all.
func (s *Section) Most() uint64 {
	if s.Segment == DWARFSegment && !strings.HasPrefix(s.Name, "__z") { // compressed
		return MaxDebug
	}
	return maxContents
}

// Reader reads a section's contents where they are needed. The error is an [*Error] or the reader's: the file
// may not have as many bytes.
func (f *File) Reader(s *Section) (io.ReaderAt, error) {
	if err := f.has(extent{s.Offset, s.Held()}, s.Name, s.Most()); err != nil {
		return nil, err
	}
	return io.NewSectionReader(f.r, int64(s.Offset), int64(s.Held())), nil
}

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

// Held is how many bytes the file has, or claims to have, for a section.
func (s *Section) Held() uint64 {
	if s.empty() || s.Offset == 0 {
		return 0
	}
	return s.Size
}

// has is an error if the file does not have all of a piece, or may not.
func (f *File) has(e extent, what string, most uint64) error {
	if e.offset > maxOffset || e.size > most {
		return errorf(e.offset, "%s: %d bytes at offset %#x", what, e.size, e.offset)
	}
	if e.size == 0 {
		return nil
	}
	if n, err := f.r.ReadAt(make([]byte, 1), int64(e.offset+e.size-1)); n == 0 {
		return cutOff(e.offset, what, err)
	}
	return nil
}

// read reads a piece, all of it or an error. Where the size is nonsense its last byte
// is not there, and nothing is allocated.
func (f *File) read(e extent, what string) ([]byte, error) {
	if err := f.has(e, what, maxContents); err != nil || e.size == 0 {
		return nil, err
	}
	out := make([]byte, e.size)
	if n, err := f.r.ReadAt(out, int64(e.offset)); n < len(out) {
		return nil, cutOff(e.offset, what, err)
	}
	return out, nil
}
