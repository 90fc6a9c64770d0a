package dwarfline

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Source is one file with DWARF.
type Source struct {
	Order binary.ByteOrder
	// Unlinked says that the file is an object file, whose code begins at address 0. In
	// others address 0 stands for code that the linker has dropped.
	Unlinked bool
	// Section opens a section by its name in ELF, as ".debug_info". It says no if
	// there is none.
	Section func(name string) (Section, bool)

	// Alternate opens the file that dwz has moved common entries to
	// (.gnu_debugaltlink). It may be nil.
	Alternate func() (*Source, error)
	// Split opens a split unit's file by its name and the folder that the name
	// counts from. It may be nil.
	Split func(dir, name string) (*Source, error)
	// Package opens the file with all split units (.dwp). It returns nil if there is
	// none. It may be nil.
	Package func() (*Source, error)
}

// Section is one section's contents.
type Section struct {
	// Size is that of the contents, decompressed, in bytes. Who opens the section
	// has checked that the file can have as many.
	Size uint64
	// At reads at any place. It is nil if the section is compressed.
	At io.ReaderAt
	// Open returns the contents from the start, decompressed. It is used where At is
	// nil.
	Open func() (io.Reader, error)
}

// How much is read at a time, in bytes.
const (
	blockSize  = 64 << 10 // at any place
	streamStep = 1 << 20  // of a stream
)

// section is a section's contents as far as they have been read. All of its memory
// is reserved at once, and what is not used of it costs nothing: pages that no one
// has written to are not there.
type section struct {
	name   string
	data   []byte
	at     io.ReaderAt
	blocks []bool    // with at: which have been read
	stream io.Reader // without
	filled uint64    // bytes of the stream
	err    error

	again func() (io.Reader, error) // opens the stream once more, for a [reader]
	// start is where data lies in the section, and whole its size: of a window. Else data is
	// all of it, and whole is 0.
	start, whole uint64
}

// open opens a section, nil if the file does not have it.
func (s *Source) open(name string, budget *uint64) *section {
	if s.Section == nil {
		return nil
	}
	found, ok := s.Section(name)
	if !ok || found.Size == 0 {
		return nil
	}
	out := &section{name: name}
	if found.Size > *budget {
		out.err = &SectionError{name, errTooBig}
		return out
	}
	if found.At == nil {
		out.again = found.Open
		if out.stream, out.err = found.Open(); out.err != nil {
			out.err = &SectionError{name, out.err}
			return out
		}
	}
	*budget -= found.Size
	out.at, out.data = found.At, make([]byte, found.Size)
	if out.at != nil {
		out.blocks = make([]bool, (found.Size+blockSize-1)/blockSize)
	}
	return out
}

// size returns the section's size, 0 if there is none.
func (s *section) size() uint64 {
	switch {
	case s == nil:
		return 0
	case s.whole > 0:
		return s.whole
	}
	return uint64(len(s.data))
}

// limit is up to where the section can be read: to its end, or to that of the window.
func (s *section) limit() uint64 {
	if s == nil {
		return 0
	}
	return s.start + uint64(len(s.data))
}

// need reads the bytes from, to (without to) unless they are there already.
func (s *section) need(from, to uint64) error {
	switch {
	case s == nil:
		return errAbsent
	case s.err != nil:
		return s.err
	case to > s.limit() || from > to || from < s.start:
		return &FormatError{s.name, from, "outside the section"}
	case s.whole > 0: // it is there
		return nil
	case s.at != nil:
		return s.readBlocks(from, to)
	}
	return s.readStream(to)
}

func (s *section) readBlocks(from, to uint64) error {
	if from == to {
		return nil
	}
	for i := from / blockSize; i <= (to-1)/blockSize; i++ {
		if s.blocks[i] {
			continue
		}
		start := i * blockSize
		end := min(start+blockSize, uint64(len(s.data)))
		if n, err := s.at.ReadAt(s.data[start:end], int64(start)); n < int(end-start) {
			return s.fail(err)
		}
		s.blocks[i] = true
	}
	return nil
}

func (s *section) readStream(to uint64) error {
	if to <= s.filled {
		return nil
	}
	end := min((to+streamStep-1)/streamStep*streamStep, uint64(len(s.data)))
	n, err := io.ReadFull(s.stream, s.data[s.filled:end])
	s.filled += uint64(n)
	if s.filled < end {
		return s.fail(err)
	}
	return nil
}

// fail remembers that the section cannot be read.
func (s *section) fail(err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // as io.ReaderAt and io.ReadFull return them
		err = errPastEnd
	}
	s.err = &SectionError{s.name, err}
	return s.err
}

// text returns the string at off, which ends with a zero. A long one is cut.
func (s *section) text(off uint64) (string, error) {
	const step = 256
	for n := uint64(step); ; n *= 4 {
		end := min(off+n, s.limit())
		if off >= end || off < s.start {
			if s == nil {
				return "", errAbsent
			}
			return "", &FormatError{s.name, off, "a string outside the section"}
		}
		if err := s.need(off, end); err != nil {
			return "", err
		}
		text, whole := cutText(s.data[off-s.start : end-s.start])
		if whole || n > maxName {
			return text, nil
		}
		if end == s.limit() {
			return "", &FormatError{s.name, off, "a string without end"}
		}
	}
}

// cutText returns the string that data begins with, and whether its end is there.
// More than maxName bytes become "…".
func cutText(data []byte) (text string, whole bool) {
	for i, b := range data {
		switch {
		case b == 0:
			return string(data[:i]), true
		case i == maxName:
			return string(data[:i]) + "…", true
		}
	}
	return "", false
}

// String returns the name, for messages.
func (s *section) String() string {
	if s == nil {
		return "no section"
	}
	return fmt.Sprintf("%s (%d bytes)", s.name, len(s.data))
}
