package reading

import (
	"debug/elf"
	"encoding/binary"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/clewdbg/clew/internal/elffile"
)

// Delve finds a thread's g if the executable has Go. Go in a library
// (-buildmode=c-shared, c-archive, plugin) has a word with the distance of g from the
// thread pointer, which the dynamic loader fills in (psABI, "Thread-Local Storage",
// the initial-exec model).

// maxRelocations bounds the bytes that are read of one table of relocations.
const maxRelocations = 256 << 20

// slots are the addresses of these words in every library with Go. They are read again
// when the number of images changes.
type slots struct {
	images int
	addrs  []uint64
}

// of lists the words.
func (s *slots) of(bi *proc.BinaryInfo) []uint64 {
	if s.images == len(bi.Images) {
		return s.addrs
	}
	s.images, s.addrs = len(bi.Images), nil
	for i, image := range bi.Images {
		if i == 0 || !image.IsGo {
			continue
		}
		if f, err := elffile.Open(image.Path); err == nil {
			for _, at := range tlsSlots(f.File) {
				s.addrs = append(s.addrs, image.StaticBase+at)
			}
			_ = f.Close() // it was only read
		}
	}
	return s.addrs
}

// tlsSlots are the link-time addresses of the words that the loader fills in with the
// distance from the thread pointer to a variable of the file.
func tlsSlots(f *elf.File) (addrs []uint64) {
	if f.Class != elf.ELFCLASS64 || f.ByteOrder != binary.LittleEndian {
		return nil
	}
	kind := map[elf.Machine]uint32{elf.EM_X86_64: uint32(elf.R_X86_64_TPOFF64), elf.EM_AARCH64: uint32(elf.R_AARCH64_TLS_TPREL64)}[f.Machine]
	for _, s := range f.Sections {
		if kind == 0 || s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 || s.Size > maxRelocations {
			continue
		}
		if data, err := s.Data(); err == nil {
			addrs = append(addrs, relocated(data, kind)...)
		}
	}
	return addrs
}

// relocated lists the offsets of the relocations of a kind.
func relocated(data []byte, kind uint32) (addrs []uint64) {
	const size = 24 // of an Elf64_Rela: r_offset, r_info, r_addend
	for ; len(data) >= size; data = data[size:] {
		if info := binary.LittleEndian.Uint64(data[8:]); uint32(info) == kind {
			addrs = append(addrs, binary.LittleEndian.Uint64(data))
		}
	}
	return addrs
}
