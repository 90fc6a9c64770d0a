package elffile

import (
	"cmp"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
)

// Limits say what the sections of files may hold, decompressed, in bytes, and how many mappings a
// core file may have.
type Limits struct {
	PerByte  uint64 `json:"perByte"`  // for each byte that is stored of a file
	Least    uint64 `json:"least"`    // that any file may hold
	Session  uint64 `json:"session"`  // that all files of a process may hold beyond PerByte
	Mappings uint64 `json:"mappings"` // of files and of memory that was written out
}

// chosen are the limits that differ from standard.
var (
	chosen   atomic.Pointer[Limits]
	standard = Limits{PerByte: 32, Least: 64 << 20, Session: 512 << 20, Mappings: 1 << 14}
)

// MostMappings is how many mappings a core file may have.
func MostMappings() uint64 { return limits().Mappings }

// limits are the process's.
func limits() Limits {
	if l := chosen.Load(); l != nil {
		return *l
	}
	return standard
}

// spent is what has been used of the session's.
var spent atomic.Uint64

// SetLimits sets the limits of files that are opened from now on; 0 stands for the
// standard.
func SetLimits(to Limits) {
	chosen.Store(&Limits{
		PerByte: min(cmp.Or(to.PerByte, standard.PerByte), 1<<16), // times most is no overflow
		Least:   cmp.Or(to.Least, standard.Least), Session: cmp.Or(to.Session, standard.Session),
		Mappings: cmp.Or(to.Mappings, standard.Mappings),
	})
}

// LeftOutError says that sections of a file are not read, as they would hold more than
// the file may.
type LeftOutError struct {
	Sections []string
	Bytes    uint64 // that these hold or claim to hold
	Budget   uint64 // of the file
}

// Error names the sections.
func (e *LeftOutError) Error() string {
	const names = 4 // that are shown
	shown := e.Sections[:min(len(e.Sections), names)]
	more := ""
	if n := len(e.Sections) - len(shown); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("%.200s%s left out: %s when read, of which the file may have %s",
		strings.Join(shown, ", "), more, amount(e.Bytes), amount(e.Budget))
}

func amount(n uint64) string { return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20) }

// young is the size up to which a file may hold its size: some systems (ZFS) count the
// blocks of a file only seconds after it was written.
const young = 256 << 20

// free is what a file may hold without taking of the session's budget.
func free(size, stored int64) uint64 {
	return max(limits().PerByte*min(uint64(max(stored, 0)), most), uint64(max(min(size, young), 0)))
}

// Most is what stored bytes may become at most, if the session has it left: what is unpacked need not go on behind that.
func Most(stored uint64) uint64 { return max(limits().PerByte*min(stored, most), limits().Least) }

// MayHold says whether stored bytes may become full bytes, and counts them: for what is
// compressed in another way than an ELF section.
func MayHold(stored, full uint64) bool {
	free := limits().PerByte * min(stored, most)
	return full <= free || full <= max(free, limits().Least) && reserve(full-free)
}

// fit leaves out sections, those that hold most first, until the rest fits into the
// file's budget. It returns nil if all fit.
func fit(f *elf.File, size int64, free uint64) *LeftOutError {
	sizes, total := make(map[*elf.Section]uint64, len(f.Sections)), uint64(0)
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && s.Flags&elf.SHF_COMPRESSED != 0 {
			s.Type = elf.SHT_NOBITS // the loader does not decompress: its flags are a lie
		}
		sizes[s] = fullSize(s, size)
		total += sizes[s]
	}
	left := &LeftOutError{Budget: max(free, limits().Least)}
	fits := func() bool { return total <= free || total <= left.Budget && reserve(total-free) }
	if fits() {
		return nil
	}
	largest := slices.Clone(f.Sections)
	slices.SortStableFunc(largest, func(a, b *elf.Section) int { return cmp.Compare(sizes[b], sizes[a]) })
	for _, s := range largest {
		left.Sections, left.Bytes = append(left.Sections, s.Name), left.Bytes+sizes[s]
		s.Type = elf.SHT_NOBITS
		if total -= sizes[s]; fits() {
			break
		}
	}
	return left
}

// reserve takes bytes of the session's budget, if it has them.
func reserve(n uint64) bool {
	for {
		have := spent.Load()
		if have+n > limits().Session {
			return false
		}
		if spent.CompareAndSwap(have, have+n) {
			return true
		}
	}
}

// most bounds the count of bytes, so that sums of maxSections do not overflow.
const most = 1 << 46

// fullSize is what a section of a file of size bytes holds, or claims to hold, decompressed. Older tools
// compress .zdebug sections, which begin with "ZLIB" and that size, big-endian.
func fullSize(s *elf.Section, size int64) uint64 {
	switch {
	case s.Type == elf.SHT_NOBITS || s.Type == elf.SHT_NULL:
		return 0
	case s.Flags&elf.SHF_COMPRESSED != 0:
		return min(s.Size, most)
	}
	var head [12]byte
	if strings.HasPrefix(s.Name, ".zdebug") && s.ReaderAt != nil {
		if n, _ := s.ReadAt(head[:], 0); n == len(head) && string(head[:4]) == "ZLIB" {
			return min(binary.BigEndian.Uint64(head[4:]), most)
		}
	}
	return min(s.Size, uint64(max(size, 0))-min(s.Offset, uint64(max(size, 0)))) // as much as the file has
}
