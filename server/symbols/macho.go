package symbols

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/clewdbg/clew/imagemap/macho"
	"github.com/clewdbg/clew/internal/elffile"
	"github.com/clewdbg/clew/unwind"
)

// Choice says which image of a universal Mach-O file is meant: the one with the
// UUID if there is one, else that of the architecture. In other files it chooses
// nothing.
type Choice struct {
	Arch    unwind.Arch
	BuildID []byte
}

// NoSliceError says that a universal file has no image that was asked for.
type NoSliceError struct {
	Has  []string // architectures
	Want Choice
}

// Error names the images that there are, and the wanted one.
func (e *NoSliceError) Error() string {
	want := e.Want.Arch.String()
	if len(e.Want.BuildID) > 0 {
		want += fmt.Sprintf(" with UUID %x", e.Want.BuildID)
	}
	return fmt.Sprintf("a universal file of %s, without an image of %s", strings.Join(e.Has, ", "), want)
}

// Slices opens every image of the Mach-O file at path, in the file's order; of
// another file that file alone. where is as in [OpenWithDebug].
func Slices(path string, where DebugSearch) ([]*File, error) {
	f, info, err := elffile.OpenRegular(path)
	if err != nil {
		return nil, &Error{Path: path, Err: err}
	}
	slices, err := macho.Slices(f)
	if err != nil {
		f.Close()
		one, err := OpenWithDebug(path, where)
		return []*File{one}, err
	}
	var out []*File
	whole := io.NewSectionReader(f, 0, info.Size())
	for _, s := range slices {
		one, err := openSlice(whole, s)
		if err != nil {
			return nil, &Error{Path: path, Err: fmt.Errorf("the image of %v: %w", s.CPU, err)}
		}
		one.findDSYM(path)
		out = append(out, one)
	}
	return out, nil
}

// newMachO opens the image that was chosen.
func newMachO(r io.ReaderAt, slices []macho.Slice, which Choice) (*File, error) {
	var has []string
	var last error
	var fit *File
	for _, s := range slices {
		f, err := openSlice(r, s)
		has = append(has, s.CPU.String())
		switch {
		case err != nil:
			last = err
			continue
		case len(slices) == 1, len(which.BuildID) > 0 && bytes.Equal(f.buildID, which.BuildID):
			return f, nil
		case f.Arch() == which.Arch && fit == nil:
			fit = f
		}
	}
	switch {
	case fit != nil:
		return fit, nil // possibly of another build: the caller can tell
	case len(slices) == 1:
		return nil, last
	}
	return nil, &NoSliceError{Has: has, Want: which}
}

func openSlice(r io.ReaderAt, s macho.Slice) (*File, error) {
	m, err := macho.Read(s.Open(r))
	if err != nil {
		return nil, err
	}
	return newMachOFile(m), nil
}

func newMachOFile(m *macho.File) *File {
	held := &machoFile{File: m}
	f := newFile(held)
	f.buildID = m.UUID
	if left := held.leaveOut(); left != nil {
		f.problems = append(f.problems, left)
	}
	return f
}

// leaveOut says which sections are not read, nil if all are: those that are too long, and debugging information that is too
// much together. A file with holes claims any size.
func (f *machoFile) leaveOut() *elffile.LeftOutError {
	left := new(elffile.LeftOutError)
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Held() > s.Most() {
			left.Sections, left.Bytes, left.Budget = append(left.Sections, s.Name), left.Bytes+min(s.Held(), 1<<46), s.Most()
		}
	}
	if debug := f.debugHeld(); debug > macho.MaxDebug {
		return &elffile.LeftOutError{Sections: append(left.Sections, macho.DWARFSegment), Bytes: left.Bytes + debug, Budget: macho.MaxDebug}
	}
	if left.Sections == nil {
		return nil
	}
	return left
}

// debugHeld is how many bytes the sections of debugging information that may be read have together. Room for them is reserved when they are read.
func (f *machoFile) debugHeld() (bytes uint64) {
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Segment == macho.DWARFSegment && s.Held() <= s.Most() {
			bytes += s.Held()
		}
	}
	return bytes
}

// machoFile is an image in Mach-O.
type machoFile struct {
	*macho.File
	dsym   *macho.File // the separate debug file, or nil
	unread atomic.Pointer[[]error]
}

// leftOut says which of the functions' names and starts are not read: there are too many.
func (f *machoFile) leftOut() []error {
	if unread := f.unread.Load(); unread != nil {
		return *unread
	}
	return nil
}

// keep keeps errors that say that there is more than is read.
func (f *machoFile) keep(all ...error) {
	var unread []error
	for _, err := range all {
		if e, ok := errors.AsType[*macho.Error](err); ok && e.Bound {
			unread = append(unread, err)
		}
	}
	f.unread.Store(&unread)
}

// EntryPoint implements [object]. dyld calls main and goes on after it.
func (f *machoFile) EntryPoint() uint64 { return 0 }

// Arch implements [object].
func (f *machoFile) Arch() unwind.Arch {
	switch f.CPU {
	case macho.X86_64:
		return unwind.AMD64
	case macho.ARM64:
		return unwind.ARM64
	case macho.I386:
		return unwind.I386
	}
	return unwind.ArchUnknown
}

// Machine implements [object].
func (f *machoFile) Machine() string { return f.CPU.String() }

// Order implements [object].
func (f *machoFile) Order() binary.ByteOrder { return binary.LittleEndian }

// goMoved implements [goSource].
func (f *machoFile) goMoved() uint64 { return 0 }

// Relocatable implements [object].
func (f *machoFile) Relocatable() bool { return f.Type == macho.Object }

// Executable implements [object].
func (f *machoFile) Executable() (out []unwind.Range) {
	for i := range f.Segments {
		if s := &f.Segments[i]; s.Executable() {
			out = append(out, unwind.Range{Start: s.Addr, End: s.Addr + s.Size})
		}
	}
	return out
}

// CodeRanges implements [object].
func (f *machoFile) CodeRanges() (out []unwind.Range) {
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Code() && s.Addr+s.Size > s.Addr {
			out = append(out, unwind.Range{Start: s.Addr, End: s.Addr + s.Size})
		}
	}
	if len(out) == 0 {
		return f.Executable()
	}
	return out
}

// Code implements [object].
func (f *machoFile) Code(vaddr uint64, n int) []byte {
	for i := range f.Segments {
		if s := &f.Segments[i]; s.Executable() && vaddr >= s.Addr && vaddr-s.Addr < s.Size {
			return f.Contents(vaddr, n)
		}
	}
	return nil
}

// commandPrefix introduces the number of a load command in a name for
// [File.Section].
const commandPrefix = "command:"

// Section implements [object]. Sections go by their own names, without their
// segment's; the name "command:NUMBER" stands for the data that the load command with
// that number names.
func (f *machoFile) Section(name string) (Contents, bool) {
	if number, ok := strings.CutPrefix(name, commandPrefix); ok {
		n, err := strconv.ParseUint(number, 0, 32)
		if err != nil {
			return Contents{}, false
		}
		data, err := f.Command(uint32(n))
		return Contents{Data: data}, err == nil && len(data) > 0
	}
	s, ok := f.File.Section(name)
	if !ok || s.Segment == macho.DWARFSegment {
		return Contents{}, false
	}
	data, err := f.Data(s)
	return Contents{Vaddr: s.Addr, Loaded: true, Data: data}, err == nil && len(data) > 0
}

// fullSymbols implements [object]: linkers keep the names of all functions, and
// list all functions, unless told otherwise.
func (f *machoFile) fullSymbols() bool {
	starts, err := f.Functions()
	return err == nil && len(starts) > 0
}
