package imagemap

import (
	"bytes"
	"debug/elf"
	"slices"
	"strings"

	"github.com/clewdbg/clew/imagemap/macho"
)

// WordSize is the size of the machine words of a process, in bits: 16, 32 or 64.
// The zero value is not valid.
type WordSize uint8

// The word sizes that version 0 can express.
const (
	Word16 WordSize = 16
	Word32 WordSize = 32
	Word64 WordSize = 64
)

// Valid reports whether the word size is one that CIF can express.
func (w WordSize) Valid() bool { return w == Word16 || w == Word32 || w == Word64 }

// Max is the largest address of this word size, 2^w-1.
func (w WordSize) Max() uint64 { return ^uint64(0) >> (64 - uint(w)) }

// Image is one executable or library in the address space of a process.
type Image struct {
	// Base is the address of the image's lowest byte: for ELF, the start of the
	// mapping of its first loadable segment.
	Base uint64
	// EndOfText is the address after the last byte of its code, above Base.
	// [Base, EndOfText) is the range that the image covers.
	EndOfText uint64
	// BuildID identifies the build (ELF: the GNU build ID; Mach-O: the UUID).
	// Empty when the image has none, at most MaxBuildID bytes.
	BuildID []byte
	// Name is the last element of Path. It follows from the path and is not
	// stored in CIF.
	Name string
	// Path is the image's file, "[vdso]" for the kernel's own library, "[NAME]" for
	// a Mach-O image that is in memory only, empty when unknown, at most MaxPath bytes. It is bytes as the system has them:
	// UTF-8 by custom, not by rule.
	Path string

	// Loaded has the facts of a live process that CIF does not store, nil
	// otherwise.
	Loaded *Loaded
}

// Contains reports whether the address is in [Base, EndOfText).
func (i *Image) Contains(address uint64) bool { return i.Base <= address && address < i.EndOfText }

// Range is the addresses Start to End, without End. It is not unwind's: this
// package and macho need the standard library only.
type Range = macho.Range

// Loaded is how an image lies in a live process.
type Loaded struct {
	// Bias says where the image is: in ELF the address of its virtual address 0,
	// to be added to an address in the file; in Mach-O the address of
	// its header. Valid if HasBias.
	Bias    uint64
	HasBias bool
	// Executable are the executable mappings of the image, in order.
	Executable []Range
	// Machine and Class are of the ELF header, or what ELF has for those of Mach-O;
	// zero if they could not be read.
	Machine elf.Machine
	Class   elf.Class
	// File is the state of the file at Path.
	File FileState
}

// FileState says whether the file at an image's path is the one that the process runs.
type FileState uint8

const (
	// FileUnknown: the path could not be looked at.
	FileUnknown FileState = iota
	// FilePresent: the file at the path is the one that is mapped.
	FilePresent
	// FileDeleted: there is no file at the path any more.
	FileDeleted
	// FileReplaced: there is another file at the path now. Its symbols and
	// tables do not describe the process.
	FileReplaced
	// FileNone: there never was a file (the vdso), or none is mapped.
	FileNone
)

// String is the state in lower case.
func (s FileState) String() string {
	if int(s) >= len(fileStates) {
		return "invalid"
	}
	return fileStates[s]
}

var fileStates = [...]string{"unknown", "present", "deleted", "replaced", "none"}

// BaseName is the last element of a path, behind the last / or \.
func BaseName(path string) string { return path[strings.LastIndexAny(path, `/\`)+1:] }

// clone is a copy that shares nothing with the original.
func (i Image) clone() Image {
	i.BuildID = bytes.Clone(i.BuildID)
	if i.Loaded != nil {
		loaded := *i.Loaded
		loaded.Executable = slices.Clone(loaded.Executable)
		i.Loaded = &loaded
	}
	return i
}
