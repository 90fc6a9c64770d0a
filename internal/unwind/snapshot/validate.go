package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Validate checks that the snapshot is possible; one that it refuses is neither
// read nor written. The error is a [*FieldError].
func (s *Snapshot) Validate() error {
	if !known(s.Arch) {
		return &FieldError{Path: "arch", Err: &ArchError{Name: s.Arch.String()}}
	}
	if o := s.ByteOrder; o != nil && o != binary.ByteOrder(binary.LittleEndian) && o != binary.ByteOrder(binary.BigEndian) {
		return invalid("byteOrder", "%v is neither little nor big", o)
	}
	if s.OS != "linux" && s.OS != "darwin" {
		return invalid("os", "unknown operating system %q (known: linux, darwin)", s.OS)
	}
	for i, img := range s.Images {
		if img.Path == "" {
			return invalid(fmt.Sprintf("images[%d].path", i), "an image needs a path")
		}
		if img.End != 0 && img.End <= img.Base {
			return invalid(fmt.Sprintf("images[%d].end", i), "the image ends at %#x, before its base %#x", img.End, img.Base)
		}
	}
	for i, m := range s.Maps {
		if m.Start >= m.End {
			return invalid(fmt.Sprintf("maps[%d].end", i), "the mapping ends at %#x, before it starts at %#x", m.End, m.Start)
		}
		if !validPerm(m.Perm) {
			return invalid(fmt.Sprintf("maps[%d].perm", i), "%q are no permissions; they look like r-xp", m.Perm)
		}
	}
	for i := range s.Threads {
		if err := s.validateThread(i); err != nil {
			return err
		}
	}
	return s.validateMemory()
}

func (s *Snapshot) validateThread(i int) error {
	t := &s.Threads[i]
	if _, ok := t.Registers.PC(s.Arch); !ok {
		return invalid(fmt.Sprintf("threads[%d].registers", i), "the program counter %s is missing", s.Arch.RegisterName(s.Arch.PC()))
	}
	if s.Arch.PointerSize() == 4 {
		for reg, v := range t.Registers.All() {
			if name := s.Arch.RegisterName(reg); v > math.MaxUint32 {
				return invalid(fmt.Sprintf("threads[%d].registers.%s", i, name), "%#x is more than 32 bits", v)
			}
		}
	}
	for j, g := range t.Segments {
		if g.Low > g.High {
			return invalid(fmt.Sprintf("threads[%d].segments[%d].high", i, j), "the segment ends at %#x, before it begins at %#x", g.High, g.Low)
		}
	}
	return nil
}

// validateMemory refuses memory that contradicts itself: an unwinder's result
// would depend on which of two windows it happens to read.
func (s *Snapshot) validateMemory() error {
	_, err := NewMemory(s.Memory)
	var conflict *ConflictError
	var wrap *WrapError
	switch {
	case errors.As(err, &conflict):
		return &FieldError{Path: fmt.Sprintf("memory[%d].data", conflict.Second), Err: err}
	case errors.As(err, &wrap):
		return &FieldError{Path: fmt.Sprintf("memory[%d].data", wrap.Window), Err: err}
	}
	if s.Arch.PointerSize() == 4 {
		for i, w := range s.Memory {
			if w.Addr > math.MaxUint32 || uint64(len(w.Data)) > 1<<32-w.Addr {
				return invalid(fmt.Sprintf("memory[%d].address", i), "%d bytes at %#x go beyond 32 bits", len(w.Data), w.Addr)
			}
		}
	}
	return err
}

// validPerm accepts the forms of /proc/PID/maps ("rwxp", "r--s"), and those
// without the last letter.
func validPerm(p string) bool {
	if len(p) != 3 && len(p) != 4 {
		return false
	}
	for i, letters := range []string{"r-", "w-", "x-", "ps"}[:len(p)] {
		if p[i] != letters[0] && p[i] != letters[1] {
			return false
		}
	}
	return true
}

func invalid(path, format string, args ...any) error {
	return &FieldError{Path: path, Err: fmt.Errorf(format, args...)}
}
