package symbols

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/mikelolasagasti/xz"

	"github.com/clewdbg/clew/internal/elffile"
)

// Some distributions leave in a stripped file a small one with the names of its
// functions, compressed with xz, in the section .gnu_debugdata (GDB's manual,
// "Debugging information in a special section"). It has no weak functions, so it is
// no full table of symbols.

// maxMini and maxDictionary bound the decompressed size, where limits are set to allow more, and the memory to decompress
// it, in bytes.
const (
	maxMini       = 256 << 20
	maxDictionary = 64 << 20
)

// overfullError says that the file becomes too large.
type overfullError struct{ most uint64 }

// Error says what it may have.
func (e *overfullError) Error() string {
	return fmt.Sprintf(".gnu_debugdata left out: more than %d MiB when read, or than the session has left", e.most>>20)
}

// readMini reads the file in .gnu_debugdata; nil: there is none, or it cannot be
// read, or it is not about this file.
func (f *elfFile) readMini() *elf.File {
	section, ok := sectionOf(f.File, ".gnu_debugdata")
	if !ok {
		return nil
	}
	if f.checkMini() != nil {
		return nil
	}
	data, err := unxz(section.Data)
	if err != nil {
		return nil
	}
	mini, _, err := elffile.New(bytes.NewReader(data), int64(len(data)), int64(len(data)))
	if err != nil || mini.Machine != f.File.Machine || mini.Class != f.Class {
		return nil
	}
	if a, b := textAt(f.File), textAt(mini); a != "" && b != "" && a != b {
		return nil
	}
	return mini
}

// checkMini is an [overfullError] where the file in .gnu_debugdata says that it becomes too large: that is known before anybody
// asks for its names. Where it lies, unpacking ends as soon.
func (f *elfFile) checkMini() error {
	s := f.File.Section(".gnu_debugdata")
	if s == nil || s.Type == elf.SHT_NOBITS {
		return nil
	}
	full, ok := xzSize(s, int64(s.FileSize))
	if most := mostMini(s.FileSize); ok && full > most {
		return &overfullError{most}
	}
	return nil
}

// mostMini is what so many bytes may become.
func mostMini(stored uint64) uint64 { return min(maxMini, elffile.Most(stored)) }

// xzSize is how much a stream of xz says it becomes, in the index at its end (The .xz File Format, sections 2.1.2 and 4).
func xzSize(r io.ReaderAt, size int64) (full uint64, ok bool) {
	const footer, maxIndex = 12, 1 << 20
	var end [footer]byte
	if _, err := r.ReadAt(end[:], size-footer); size < footer || err != nil && !errors.Is(err, io.EOF) || string(end[10:]) != "YZ" {
		return 0, false
	}
	n := 4 * (int64(binary.LittleEndian.Uint32(end[4:])) + 1)
	if n > maxIndex || n > size-footer {
		return 0, false
	}
	index := make([]byte, n)
	if _, err := r.ReadAt(index, size-footer-n); err != nil || index[0] != 0 {
		return 0, false
	}
	rest := bytes.NewReader(index[1:])
	blocks, err := binary.ReadUvarint(rest)
	for ; err == nil && blocks > 0; blocks-- {
		if _, err = binary.ReadUvarint(rest); err == nil { // its stored size
			var block uint64
			block, err = binary.ReadUvarint(rest)
			full += min(block, 1<<40)
		}
	}
	return full, err == nil
}

// unxz decompresses.
func unxz(data []byte) ([]byte, error) {
	r, err := xz.NewReader(bytes.NewReader(data), maxDictionary)
	if err != nil {
		return nil, err
	}
	limit := mostMini(uint64(len(data)))
	out, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err == nil && (uint64(len(out)) > limit || !elffile.MayHold(uint64(len(data)), uint64(len(out)))) {
		err = &overfullError{limit}
	}
	return out, err
}
