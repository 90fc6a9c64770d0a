package symbols

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/clewdbg/clew/imagemap/macho"
	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/server/symbols/dwarfline"
	"github.com/clewdbg/clew/server/symbols/gotab"
)

// findDSYM looks for the separate debug file that dsymutil writes beside the file:
// PATH.dSYM/Contents/Resources/DWARF/NAME. It counts if it has the same UUID.
func (f *File) findDSYM(path string) {
	m, ok := f.object.(*machoFile)
	if !ok || m.hasDWARF() {
		return
	}
	where := filepath.Join(path+".dSYM", "Contents", "Resources", "DWARF", filepath.Base(path))
	if _, err := os.Stat(where); err != nil {
		return
	}
	debug, err := openChosen(where, where, Choice{Arch: m.Arch(), BuildID: f.buildID})
	if err == nil {
		d, ok := debug.object.(*machoFile)
		switch {
		case !ok:
			err = errors.New("it is no Mach-O file")
		case len(f.buildID) == 0 || !bytes.Equal(debug.buildID, f.buildID):
			err = &OtherBuildError{What: "UUID", Want: hex.EncodeToString(f.buildID), Found: hex.EncodeToString(debug.buildID)}
		default:
			m.dsym, f.problems = d.File, append(f.problems, debug.problems...)
			return
		}
	}
	if e, ok := errors.AsType[*Error](err); ok {
		err = e.Err // without the path, which comes anyway
	}
	f.problems = append(f.problems, &DebugFileError{Path: where, Of: path, Err: err})
}

// openDWARF implements [object].
func (f *machoFile) openDWARF() described {
	switch {
	case f.dsym != nil:
		if t := (&machoFile{File: f.dsym}).ownDWARF(); t != nil {
			return t
		}
	case f.hasDWARF():
		return f.ownDWARF()
	default:
		if m := newDebugMap(f.File); m != nil {
			return m
		}
	}
	return nil
}

// ownDWARF returns the image's own debugging information, nil if there is none.
func (f *machoFile) ownDWARF() *dwarfline.Table {
	if !f.hasDWARF() {
		return nil
	}
	return dwarfline.New(&dwarfline.Source{Order: binary.LittleEndian, Unlinked: f.Relocatable(), Section: func(name string) (dwarfline.Section, bool) {
		name, _ = strings.CutPrefix(name, ".debug_")
		return f.debugSection(name)
	}})
}

// hasDWARF says whether the image has debugging information of its own, and not too much.
func (f *machoFile) hasDWARF() bool {
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Segment == macho.DWARFSegment && strings.HasSuffix(s.Name, "debug_info") {
			return f.debugHeld() <= macho.MaxDebug
		}
	}
	return false
}

// debugSection opens a section of DWARF. Names of sections have 16 bytes at most.
func (f *machoFile) debugSection(name string) (dwarfline.Section, bool) {
	const longest = 16
	for i := range f.Sections {
		s := &f.Sections[i]
		plain, packed := "__debug_"+name, "__zdebug_"+name
		switch {
		case s.Segment != macho.DWARFSegment:
		case s.Name == plain[:min(len(plain), longest)]:
			at, err := f.Reader(s)
			return dwarfline.Section{Size: s.Held(), At: at}, err == nil && s.Held() > 0
		case s.Name == packed[:min(len(packed), longest)]:
			data, _ := f.Data(s)
			data = unpack(data)
			return dwarfline.Section{Size: uint64(len(data)), At: bytes.NewReader(data)}, len(data) > 0
		}
	}
	return dwarfline.Section{}, false
}

// unpack decompresses a section as Go's linker writes it: "ZLIB", the size in
// big-endian, and the data.
func unpack(data []byte) []byte {
	if len(data) < 12 || string(data[:4]) != "ZLIB" {
		return nil
	}
	size := binary.BigEndian.Uint64(data[4:])
	if size > maxDebug || !elffile.MayHold(uint64(len(data)), size) {
		return nil
	}
	r, err := zlib.NewReader(bytes.NewReader(data[12:]))
	if err != nil {
		return nil
	}
	out, err := io.ReadAll(io.LimitReader(r, int64(size)))
	if err != nil {
		return nil
	}
	return out
}

func (f *machoFile) readGoTable() *gotab.Table { return readGoTable(f) }

// goTableBytes implements [goSource].
func (f *machoFile) goTableBytes() (data []byte, addr uint64, named bool) {
	if s, ok := f.File.Section("__gopclntab"); ok {
		if data, err := f.Data(s); err == nil {
			return data, s.Addr, true
		}
	}
	return nil, 0, false
}

// goText implements [goSource].
func (f *machoFile) goText() (uint64, bool) {
	symbols, err := f.Symbols()
	if err != nil {
		return 0, false
	}
	for _, s := range symbols {
		if s.Name == "runtime.text" {
			return s.Addr, true
		}
	}
	return 0, false
}

// goData implements [goSource]. In what Go's own linker makes, data holds
// the linker's addresses; Apple's linker chains what dyld has to change, and its
// words are no addresses.
func (f *machoFile) goData() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := range f.Sections {
			s := &f.Sections[i]
			if !strings.HasPrefix(s.Segment, "__DATA") {
				continue
			}
			if data, err := f.Data(s); err == nil && len(data) > 0 && !yield(data) {
				return
			}
		}
	}
}

// goContents implements [goSource].
func (f *machoFile) goContents(addr uint64) []byte {
	for i := range f.Sections {
		if s := &f.Sections[i]; addr >= s.Addr && addr-s.Addr < s.Size {
			if data, err := f.Data(s); err == nil && addr-s.Addr < uint64(len(data)) {
				return data[addr-s.Addr:]
			}
		}
	}
	return nil
}
