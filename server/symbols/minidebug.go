package symbols

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io"

	"github.com/mikelolasagasti/xz"

	"github.com/clewdbg/clew/internal/elffile"
)

// Some distributions leave in a stripped file a small one with the names of its
// functions, compressed with xz, in the section .gnu_debugdata (GDB's manual,
// "Debugging information in a special section"). It has no weak functions, so it is
// no full table of symbols.

// maxMini and maxDictionary bound the decompressed size, and the memory to decompress
// it, in bytes.
const (
	maxMini       = 256 << 20
	maxDictionary = 64 << 20
)

// readMini reads the file in .gnu_debugdata; nil: there is none, or it cannot be
// read, or it is not about this file.
func (f *elfFile) readMini() *elf.File {
	section, ok := sectionOf(f.File, ".gnu_debugdata")
	if !ok {
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

// unxz decompresses.
func unxz(data []byte) ([]byte, error) {
	r, err := xz.NewReader(bytes.NewReader(data), maxDictionary)
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(r, maxMini+1))
	if err == nil && (len(out) > maxMini || !elffile.MayHold(uint64(len(data)), uint64(len(out)))) {
		err = fmt.Errorf("%d bytes become more than they may", len(data))
	}
	return out, err
}
