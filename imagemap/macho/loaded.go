package macho

import (
	"errors"
	"io"
)

// Loaded reads the image whose header lies in memory at header. Its contents are as
// they are there: file offsets are found where their segments are. Parts that the
// process has not loaded, or has unmapped, cannot be read.
func Loaded(memory io.ReaderAt, header uint64) (*File, error) {
	f, err := Read(at{memory, header})
	if err != nil {
		return nil, err
	}
	f.r = &loaded{memory: memory, header: header, file: f}
	return f, nil
}

// at is memory from an address on.
type at struct {
	memory io.ReaderAt
	start  uint64
}

func (a at) ReadAt(p []byte, off int64) (int, error) { return a.memory.ReadAt(p, int64(a.start)+off) }

var errNotLoaded = errors.New("it is in no loaded segment")

// loaded reads by file offsets from where the segments are loaded.
type loaded struct {
	memory io.ReaderAt
	header uint64
	file   *File
}

// ReadAt implements [io.ReaderAt].
func (l *loaded) ReadAt(p []byte, off int64) (int, error) {
	where, ok := l.find(uint64(off), uint64(len(p)))
	if !ok {
		return 0, errNotLoaded
	}
	return l.memory.ReadAt(p, int64(where))
}

// find returns the address of a piece of the file.
func (l *loaded) find(off, n uint64) (uint64, bool) {
	for i := range l.file.Segments {
		s := &l.file.Segments[i]
		if in := off - s.Offset; off >= s.Offset && in <= s.Data && n <= min(s.Data, s.Size)-min(in, min(s.Data, s.Size)) && n > 0 {
			return s.Addr + in + l.header - l.file.Base(), true
		}
	}
	return 0, false
}

// Ranges lists where in memory that is which makes an image known, at the place
// where it is loaded: its code, its tables, and its symbols. It is for images that
// [Loaded] gave.
func (f *File) Ranges() (out []Range) {
	l, ok := f.r.(*loaded)
	if !ok {
		return nil
	}
	add := func(e extent) {
		if where, ok := l.find(e.offset, e.size); ok {
			out = append(out, Range{where, where + e.size})
		}
	}
	slide := l.header - f.Base()
	out = append(out, Range{l.header, l.header + f.HeaderSize})
	for i := range f.Segments {
		if s := &f.Segments[i]; s.Executable() {
			out = append(out, Range{s.Addr + slide, s.Addr + slide + min(s.Data, s.Size)})
		}
	}
	for _, e := range f.data {
		add(e)
	}
	add(extent{f.symtab.symbols, uint64(f.symtab.count) * f.nlistSize()})
	add(f.indirect)
	if entries, err := f.nlist(); err == nil {
		where, _ := f.nameExtent(entries)
		add(where)
	}
	return out
}

// Range is the addresses Start to End, without End.
type Range struct{ Start, End uint64 }
