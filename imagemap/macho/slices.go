package macho

import (
	"encoding/binary"
	"errors"
	"io"
)

// The first word of a file.
const (
	magic32    = 0xfeed_face
	magic64    = 0xfeed_facf
	magicFat   = 0xcafe_babe // big-endian, as everything in the table of slices
	magicFat64 = 0xcafe_babf
)

// maxSlices is more than any file has. Java's class files begin with the same word
// as universal files; there a version follows, which is at least 45.
const maxSlices = 32

// Slice is one architecture's image in a universal file.
type Slice struct {
	CPU          CPU
	SubCPU       uint32
	Offset, Size uint64 // in the file, in bytes
}

// Slices lists the images of a universal file in its order; a thin file is one
// slice, whose size is not known (0). It fails with [ErrNotMachO], an [*Error], or
// the reader's error.
func Slices(r io.ReaderAt) ([]Slice, error) {
	var head [16]byte
	if n, err := r.ReadAt(head[:], 0); n < len(head) {
		if err == nil || errors.Is(err, io.EOF) {
			err = ErrNotMachO
		}
		return nil, err
	}
	if isThin(head[:]) {
		return []Slice{{CPU: CPU(binary.LittleEndian.Uint32(head[4:])), SubCPU: binary.LittleEndian.Uint32(head[8:])}}, nil
	}
	magic, n := binary.BigEndian.Uint32(head[:]), binary.BigEndian.Uint32(head[4:])
	size := 20
	switch {
	case magic != magicFat && magic != magicFat64, n > maxSlices:
		return nil, ErrNotMachO
	case magic == magicFat64:
		size = 32
	}
	raw := make([]byte, int(n)*size)
	if got, err := r.ReadAt(raw, 8); got < len(raw) {
		return nil, cutOff(8, "the table of slices", err)
	}
	var out []Slice
	for ; len(raw) > 0; raw = raw[size:] {
		s := Slice{CPU: CPU(binary.BigEndian.Uint32(raw)), SubCPU: binary.BigEndian.Uint32(raw[4:])}
		if magic == magicFat64 {
			s.Offset, s.Size = binary.BigEndian.Uint64(raw[8:]), binary.BigEndian.Uint64(raw[16:])
		} else {
			s.Offset, s.Size = uint64(binary.BigEndian.Uint32(raw[8:])), uint64(binary.BigEndian.Uint32(raw[12:]))
		}
		if s.Offset > maxOffset || s.Size > maxOffset {
			return nil, errorf(8, "a slice at offset %#x of %#x bytes", s.Offset, s.Size)
		}
		out = append(out, s)
	}
	return out, nil
}

// maxOffset bounds offsets in files, so that sums do not overflow.
const maxOffset = 1 << 48

// IsHeader says whether an image begins with these bytes, of which it needs 4.
func IsHeader(b []byte) bool { return len(b) >= 4 && isThin(b) }

func isThin(b []byte) bool {
	m := binary.LittleEndian.Uint32(b)
	return m == magic32 || m == magic64
}

func cutOff(offset uint64, what string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return errorf(offset, "%s: the data ends there", what)
	}
	return err
}

// Open returns a slice of a file as a reader of its own.
func (s Slice) Open(r io.ReaderAt) io.ReaderAt {
	size := int64(s.Size)
	if size == 0 {
		size = 1<<63 - 1 - int64(s.Offset)
	}
	return io.NewSectionReader(r, int64(s.Offset), size)
}
