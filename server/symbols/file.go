package symbols

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/imagemap/macho"
	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/server/symbols/gotab"
	"github.com/clewdbg/clew/unwind"
)

// File is a linked file, ELF or Mach-O. It is safe for concurrent use.
type File struct {
	object
	buildID  []byte
	problems []error

	dataOnce sync.Once
	data     map[string]uint64 // see [File.Data]

	vtablesOnce sync.Once
	vtables     []vtable // see [File.VTable]

	goTable    func() *gotab.Table
	goProblems found
	model      func() *codemodel.Image
	functions  func() functions
	labels     func() []function
	dwarf      func() described
	calls      cache[uint64, []Call]
	jumps      cache[jump, []Call]
	named      cache[string, []uint64]
	natives    cache[string, nativeFound]
}

// object is a file in one format. Addresses are the linker's.
type object interface {
	// Base is the address that the place of a loaded image counts from: 0 in ELF,
	// that of the header in Mach-O.
	Base() uint64
	// EntryPoint is the link-time address where the program starts, 0 if it has none
	// or another image calls it: the outermost caller of its first thread.
	EntryPoint() uint64
	// Arch is the file's architecture, unknown where it is not one of those that clew
	// knows, and Machine its name in the file's format.
	Arch() unwind.Arch
	Machine() string
	// Order is the file's byte order.
	Order() binary.ByteOrder
	// Relocatable says that the file has yet to be linked: nothing in it has its
	// address.
	Relocatable() bool
	// Executable lists the executable segments.
	Executable() []unwind.Range
	// CodeRanges lists where instructions are: the sections of code, or the executable
	// segments, which may hold other things too, where there are no section headers.
	CodeRanges() []unwind.Range
	// Code returns up to n bytes of an executable segment's contents from vaddr on.
	Code(vaddr uint64, n int) []byte
	// Section returns a section by the name that strategies ask for it.
	Section(name string) (Contents, bool)

	// fullSymbols says whether there is a full table of symbols, not only of those
	// that the file exports.
	fullSymbols() bool
	readFunctions() functions
	// localLabels lists labels in code which may be functions.
	localLabels() []function
	readGoTable() *gotab.Table
	// openDWARF returns the debugging information, nil if there is none.
	openDWARF() described
}

// Error names the file and the part that could not be read.
type Error struct {
	Path string
	Err  error
}

// Error names the file.
func (e *Error) Error() string { return fmt.Sprintf("symbols of %s: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Open reads the headers of the file at path.
func Open(path string) (*File, error) { return openChosen(path, path, Choice{}) }

// openChosen opens the file at path, which users know by the path known.
func openChosen(path, known string, which Choice) (*File, error) {
	f, info, err := elffile.OpenRegular(path)
	if err != nil {
		return nil, &Error{Path: path, Err: err}
	}
	// The file stays open as long as it is used; os.File closes itself when it
	// is collected.
	out, err := newChosen(f, info.Size(), elffile.Stored(info), which)
	if err != nil {
		f.Close()
		return nil, &Error{Path: path, Err: err}
	}
	for i, err := range out.problems {
		out.problems[i] = &Error{Path: known, Err: err}
	}
	if ef, ok := out.object.(*elfFile); ok {
		ef.place.info = info
	}
	return out, nil
}

// New reads the headers of a file of size bytes.
func New(r io.ReaderAt, size int64) (*File, error) { return newChosen(r, size, size, Choice{}) }

func newChosen(r io.ReaderAt, size, stored int64, which Choice) (*File, error) {
	whole := io.NewSectionReader(r, 0, size)
	if slices, err := macho.Slices(whole); err == nil {
		return newMachO(whole, slices, which)
	}
	ef, left, err := elffile.New(r, size, stored)
	if err != nil {
		return nil, err
	}
	f := newFile(&elfFile{File: ef})
	if f.buildID, err = imagemap.ReadBuildID(whole); err != nil && f.buildID == nil {
		f.AddProblem(fmt.Errorf("build ID: %w", err))
	}
	if left != nil {
		f.AddProblem(left)
	}
	return f, nil
}

func newFile(o object) *File {
	f := &File{
		object: o, goTable: sync.OnceValue(o.readGoTable), functions: sync.OnceValue(o.readFunctions), dwarf: sync.OnceValue(o.openDWARF),
	}
	f.model = sync.OnceValue(f.newModel)
	f.labels = sync.OnceValue(f.readLabels)
	return f
}

// BuildID is the GNU build ID or Mach-O's UUID, nil if there is none.
func (f *File) BuildID() []byte { return f.buildID }

// GoTable is the table of Go's functions, nil if there is none.
func (f *File) GoTable() *gotab.Table { return f.goTable() }
