package symbols

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/gotab"
	"github.com/clewdbg/clew/unwind"
)

// Range is the addresses Start to End, without End.
type Range struct{ Start, End uint64 }

// File is an ELF file. It is safe for concurrent use.
type File struct {
	elf      *elf.File
	debug    *elf.File // the separate debug file, nil if there is none
	buildID  []byte
	moved    uint64 // what the loader has added to addresses in it; 0 for files
	problems []error

	goTable   func() *gotab.Table
	functions func() []function
	lines     func() *lineIndex
}

// Error says what could not be read of which file.
type Error struct {
	Path string
	Err  error
}

// Error names the file.
func (e *Error) Error() string { return fmt.Sprintf("symbols of %s: %v", e.Path, e.Err) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Open reads the headers of the file at path.
func Open(path string) (*File, error) {
	// Before it is opened: opening a pipe waits for its writer.
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		return nil, &Error{Path: path, Err: errors.New("not a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, &Error{Path: path, Err: err}
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("not a regular file")
	}
	if err != nil {
		f.Close()
		return nil, &Error{Path: path, Err: err}
	}
	// The file stays open as long as it is used; os.File closes itself when it
	// is collected.
	out, err := New(f, fi.Size())
	if err != nil {
		f.Close()
		return nil, &Error{Path: path, Err: err}
	}
	return out, nil
}

// New reads the headers of an ELF file of size bytes.
func New(r io.ReaderAt, size int64) (*File, error) {
	ef, err := elf.NewFile(io.NewSectionReader(r, 0, size))
	if err != nil {
		return nil, err
	}
	f := newFile(ef)
	f.buildID, _ = imagemap.ReadBuildID(io.NewSectionReader(r, 0, size))
	return f, nil
}

func newFile(ef *elf.File) *File {
	f := &File{elf: ef}
	f.goTable = sync.OnceValue(func() *gotab.Table { return readGoTable(ef) })
	f.functions = sync.OnceValue(func() []function { return readFunctions(ef, f.debug, f.moved) })
	f.lines = sync.OnceValue(func() *lineIndex {
		if f.debug != nil {
			return newLineIndex(f.debug)
		}
		return newLineIndex(ef)
	})
	return f
}

// BuildID is the GNU build ID, nil if there is none.
func (f *File) BuildID() []byte { return f.buildID }

// EntryPoint is the link-time address where the program starts, 0 if it has none:
// the outermost caller of its first thread.
func (f *File) EntryPoint() uint64 { return f.elf.Entry }

// Arch is the file's architecture, unknown where it is none of those that clew
// knows.
func (f *File) Arch() unwind.Arch {
	switch m := f.elf.Machine; {
	case m == elf.EM_X86_64 && f.elf.Class == elf.ELFCLASS64:
		return unwind.AMD64
	case m == elf.EM_AARCH64:
		return unwind.ARM64
	case m == elf.EM_386:
		return unwind.I386
	case m == elf.EM_ARM:
		return unwind.ARM
	case m == elf.EM_S390 && f.elf.Class == elf.ELFCLASS64:
		return unwind.S390X
	}
	return unwind.ArchUnknown
}

// Machine names the architecture as ELF does.
func (f *File) Machine() string { return f.elf.Machine.String() }

// Order is the file's byte order.
func (f *File) Order() binary.ByteOrder { return f.elf.ByteOrder }

// Relocatable says that the file has yet to be linked: nothing in it has its
// address.
func (f *File) Relocatable() bool { return f.elf.Type == elf.ET_REL }

// GoTable is the table of Go's functions, nil if there is none.
func (f *File) GoTable() *gotab.Table { return f.goTable() }

// Executable lists the executable segments.
func (f *File) Executable() []Range {
	var out []Range
	for _, p := range f.elf.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && p.Vaddr+p.Memsz > p.Vaddr {
			out = append(out, Range{p.Vaddr, p.Vaddr + p.Memsz})
		}
	}
	return out
}

// CodeRanges lists where instructions are: the sections of code, or the executable
// segments, which may hold other things too, where there are no section headers.
func (f *File) CodeRanges() []Range {
	var out []Range
	for _, s := range f.elf.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 && s.Type != elf.SHT_NOBITS && s.Addr+s.Size > s.Addr {
			out = append(out, Range{s.Addr, s.Addr + s.Size})
		}
	}
	if len(out) == 0 {
		return f.Executable()
	}
	return out
}

// Code gives up to n bytes of an executable segment's contents from vaddr on.
func (f *File) Code(vaddr uint64, n int) []byte {
	for _, p := range f.elf.Progs {
		if p.Type != elf.PT_LOAD || p.Flags&elf.PF_X == 0 || vaddr < p.Vaddr || vaddr-p.Vaddr >= p.Filesz {
			continue
		}
		buf := make([]byte, min(uint64(max(n, 0)), p.Filesz-(vaddr-p.Vaddr)))
		got, err := p.ReadAt(buf, int64(vaddr-p.Vaddr))
		if err != nil && !errors.Is(err, io.EOF) {
			return nil
		}
		return buf[:got]
	}
	return nil
}
