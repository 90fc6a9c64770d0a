package snapshot

import (
	"cmp"
	"encoding/binary"
	"path/filepath"
	"strings"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
	"github.com/clewdbg/clew/unwind"
)

// Version is the version of the format that this package reads and writes.
const Version = 1

// Snapshot is one stopped program.
type Snapshot struct {
	Producer string      // what wrote it, with its version; "" if unknown
	Arch     unwind.Arch // AMD64, ARM64, I386 or S390X
	// ByteOrder is never nil after reading; nil stands for the architecture's.
	ByteOrder binary.ByteOrder
	OS        string // "linux" or "darwin"
	Images    []Image
	// Maps lists the mappings of the address space; nil where they are unknown,
	// so that the images' executable ranges count.
	Maps []Map
	// PACMask has the bits set that pointer authentication uses in a return
	// address (R11); 0 if unknown or without pointer authentication.
	PACMask uint64
	Threads []unwind.Thread
	// Memory holds original bytes: a debugger's breakpoints are removed.
	Memory []unwind.Window
	// Expect is the answer of a correct unwinder; nil if unknown.
	Expect *stackjson.Expectation
}

// Image is a program or library in the address space.
type Image struct {
	// Path is relative to the snapshot's folder, or absolute; see [ResolvePath].
	Path string
	// Base is the load bias for ELF (the address of vaddr 0) and the address of
	// the header for Mach-O.
	Base    uint64
	End     uint64 // 0 if unknown
	BuildID []byte // nil if unknown
}

// Map is a mapping [Start, End).
type Map struct {
	Start, End uint64
	Perm       string // "r-xp" as Linux writes it, or "r-x"
	Path       string
}

// Executable reports whether code may run there.
func (m Map) Executable() bool { return len(m.Perm) > 2 && m.Perm[2] == 'x' }

// Target returns a snapshot's memory, for unwinding.
func (s *Snapshot) Target() (*Memory, error) { return NewMemory(s.Memory) }

// Order returns the byte order: the architecture's unless the snapshot says
// otherwise.
func (s *Snapshot) Order() binary.ByteOrder {
	return cmp.Or(s.ByteOrder, s.Arch.ByteOrder())
}

// Executable returns the executable mappings. known is false where the snapshot
// has no maps, so that the images' executable ranges count.
func (s *Snapshot) Executable() (set unwind.RangeSet, known bool) {
	if s.Maps == nil {
		return nil, false
	}
	var ranges []unwind.Range
	for _, m := range s.Maps {
		if m.Executable() {
			ranges = append(ranges, unwind.Range{Start: m.Start, End: m.End})
		}
	}
	return unwind.NewRangeSet(ranges...), true
}

// ResolvePath returns the file that an image's path stands for: an absolute path
// lies below root ("" is "/"), a relative one is relative to dir, the folder of
// the snapshot ("." when it came from a stream). An absolute path never leads
// out of root. For paths like "[vdso]", which stand for no file, it returns "".
func ResolvePath(path, dir, root string) string {
	switch {
	case path == "" || strings.HasPrefix(path, "["):
		return ""
	case !filepath.IsAbs(path):
		return filepath.Join(dir, path)
	case root == "":
		return filepath.Clean(path)
	}
	return filepath.Join(root, filepath.Clean(path))
}
