package symbols

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clewdbg/clew/internal/elffile"
)

// DefaultDebugFolders are where distributions put separate debug files.
var DefaultDebugFolders = []string{"/usr/lib/debug"}

// DebugFileError says that a separate debug file was found, and why it is not
// used.
type DebugFileError struct {
	Path string // of the debug file
	Of   string // the file that it should describe
	Err  error
}

// Error names both files and the reason.
func (e *DebugFileError) Error() string {
	return fmt.Sprintf("%s, the debug file of %s, is not used: %v", e.Path, e.Of, e.Err)
}

// Unwrap returns the reason.
func (e *DebugFileError) Unwrap() error { return e.Err }

// OtherBuildError says that two files which should be of one build are not.
type OtherBuildError struct {
	What        string // "build ID", "checksum", ".text"
	Want, Found string
}

// Error returns both.
func (e *OtherBuildError) Error() string {
	return fmt.Sprintf("it is of another build: %s %s, wanted %s", e.What, e.Found, e.Want)
}

// DebugSearch says where the separate debug file of a file is looked for.
type DebugSearch struct {
	Choice
	Known   string   // the path by which the file is known, where it is opened by another
	Beside  string   // the folder that it lies in
	Folders []string // of debug files
	Also    string   // a debug file that was found elsewhere by build ID; "" for none
}

// WantsDebugFile says whether the file has neither DWARF nor a separate debug file
// and could be known elsewhere by its build ID.
func (f *File) WantsDebugFile() bool {
	ef, ok := f.object.(*elfFile)
	return ok && len(f.buildID) > 0 && ef.debug == nil && !hasDWARF(ef.File)
}

// OpenWithDebug opens the file at path, and its separate debug file where there
// is one: names, bounds, lines and .debug_frame then come from there too.
//
// A debug file is found by build ID, as FOLDER/.build-id/ab/cdef.debug, and by
// the name in .gnu_debuglink: beside the file, in .debug beside it, and as
// FOLDER/KNOWN/NAME (GDB's manual, "Debugging Information in Separate Files"). It
// counts if both build IDs agree; where one has none, if the checksum of
// .gnu_debuglink does. That one was found and does not count [File.Problems] says.
func OpenWithDebug(path string, where DebugSearch) (*File, error) {
	f, err := openChosen(path, cmp.Or(where.Known, path), where.Choice)
	if err != nil {
		return nil, err
	}
	if ef, ok := f.object.(*elfFile); ok {
		f.checkSections(ef.File, cmp.Or(where.Known, path))
		ef.place.path, ef.place.folders = path, where.Folders
		if !hasDWARF(ef.File) { // it has no DWARF of its own
			f.findDebug(ef, path, where)
		}
		if err := ef.checkMini(); err != nil && ef.debug == nil {
			f.AddProblem(&Error{Path: cmp.Or(where.Known, path), Err: err})
		}
	}
	f.findDSYM(path)
	return f, nil
}

// Problems says what the user should know of the file: what was found of it and
// cannot be used. Of its DWARF and its functions that is known as far as they have been read.
func (f *File) Problems() []error {
	out := slices.Clip(f.problems)
	if m, ok := f.object.(*machoFile); ok {
		out = append(out, m.leftOut()...)
	}
	if t := f.dwarf(); t != nil {
		out = append(out, t.Problems()...)
	}
	return append(out, f.goProblems.list()...)
}

// AddProblem adds one. It is for the code that opens the file.
func (f *File) AddProblem(err error) { f.problems = append(f.problems, err) }

// candidate is a place where a debug file may be.
type candidate struct {
	path string
	crc  *uint32 // that its contents must have; nil: found by build ID
}

func (f *File) findDebug(ef *elfFile, path string, where DebugSearch) {
	for _, c := range f.candidates(ef, where) {
		info, err := os.Stat(c.path)
		if err != nil {
			continue
		}
		if known, err := os.Stat(path); err == nil && os.SameFile(known, info) {
			continue // .gnu_debuglink names the file itself
		}
		debug, err := f.openDebug(ef, &c)
		if err == nil {
			ef.debug, ef.debugPlace = debug.File, place{c.path, where.Folders, debug.place.info}
			return
		}
		if e, ok := errors.AsType[*Error](err); ok {
			err = e.Err // without the path, which comes anyway
		}
		f.problems = append(f.problems, &DebugFileError{Path: c.path, Of: where.Known, Err: err})
	}
}

// candidates lists where the debug file may be, the best first.
func (f *File) candidates(ef *elfFile, where DebugSearch) (out []candidate) {
	if id := hex.EncodeToString(f.buildID); len(id) > 2 {
		for _, folder := range where.Folders {
			out = append(out, candidate{path: filepath.Join(folder, ".build-id", id[:2], id[2:]+".debug")})
		}
	}
	if where.Also != "" {
		out = append(out, candidate{path: where.Also})
	}
	name, crc, ok := ef.debugLink()
	if !ok {
		return out
	}
	places := []string{filepath.Join(where.Beside, name), filepath.Join(where.Beside, ".debug", name)}
	for _, folder := range where.Folders {
		places = append(places, filepath.Join(folder, filepath.Dir(where.Known), name))
	}
	for _, place := range places {
		out = append(out, candidate{place, &crc})
	}
	return out
}

// debugLink reads .gnu_debuglink: a file name, zeros up to a multiple of 4 bytes,
// and the CRC-32 of the file's contents.
func (f *elfFile) debugLink() (name string, crc uint32, ok bool) {
	c, ok := sectionOf(f.File, ".gnu_debuglink")
	if !ok {
		return "", 0, false
	}
	end := bytes.IndexByte(c.Data, 0)
	at := (end + 4) &^ 3
	if end <= 0 || len(c.Data) < at+4 {
		return "", 0, false
	}
	name = string(c.Data[:end])
	if strings.ContainsRune(name, '/') || name == "." || name == ".." { // a name, no path to anywhere
		return "", 0, false
	}
	return name, f.ByteOrder.Uint32(c.Data[at:]), true
}

// openDebug opens a debug file if it is of the same build.
func (f *File) openDebug(ef *elfFile, c *candidate) (*elfFile, error) {
	file, err := Open(c.path)
	if err != nil {
		return nil, err
	}
	debug, ok := file.object.(*elfFile)
	if !ok {
		return nil, errors.New("it is no ELF file")
	}
	if err := c.sameBuild(f.buildID, file.buildID); err != nil {
		return nil, err
	}
	// Tools that move code afterwards (prelink) leave build ID and checksum as they
	// were.
	if a, b := textAt(ef.File), textAt(debug.File); a != b && a != "" && b != "" {
		return nil, &OtherBuildError{What: ".text", Want: a, Found: b}
	}
	if ef.File.Machine != debug.File.Machine || ef.Class != debug.Class {
		return nil, &OtherBuildError{What: "machine", Want: ef.Machine(), Found: debug.Machine()}
	}
	for _, err := range file.problems { // not that its program headers lead nowhere, as objcopy leaves them
		if left := (*elffile.LeftOutError)(nil); errors.As(err, &left) {
			f.AddProblem(err)
		}
	}
	return debug, nil
}

// sameBuild compares build IDs, or, where one is missing, the debug file with the
// checksum in .gnu_debuglink.
func (c *candidate) sameBuild(want, found []byte) error {
	switch {
	case len(want) > 0 && len(found) > 0:
		if !bytes.Equal(want, found) {
			return &OtherBuildError{What: "build ID", Want: hex.EncodeToString(want), Found: hex.EncodeToString(found)}
		}
		return nil
	case c.crc == nil:
		return &OtherBuildError{What: "build ID", Want: hex.EncodeToString(want), Found: "none"}
	}
	crc, err := checksum(c.path)
	if err == nil && crc != *c.crc {
		err = &OtherBuildError{What: "checksum", Want: fmt.Sprintf("%08x", *c.crc), Found: fmt.Sprintf("%08x", crc)}
	}
	return err
}

// textAt says where a file's .text lies, "" if it has none.
func textAt(f *elf.File) string {
	if s := f.Section(".text"); s != nil {
		return fmt.Sprintf("at %#x", s.Addr)
	}
	return ""
}

// checksum is the CRC-32 of a file's contents.
func checksum(path string) (uint32, error) {
	file, info, err := elffile.OpenRegular(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if err := elffile.CheckWhole(info); err != nil {
		return 0, err
	}
	sum := crc32.NewIEEE()
	if _, err := io.Copy(sum, file); err != nil {
		return 0, err
	}
	return sum.Sum32(), nil
}
