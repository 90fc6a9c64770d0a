package unpacked

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"sync"
)

const (
	block  = 64 << 10 // has a checksum
	stride = 1 << 20  // is decompressed at a time, whole blocks
)

var table = crc32.MakeTable(crc32.Castagnoli)

// section is a section that is kept, or is being decompressed into a file. It is safe for concurrent use.
type section struct {
	cache *Cache
	path  string
	size  uint64
	open  func() (io.Reader, error)

	mu     sync.Mutex
	kept   *kept
	stream io.Reader
	file   *os.File // that is being written
	filled uint64
	sums   []byte // of the blocks that were written
	err    error
}

// errPastEnd says that a section is shorter than its header says.
var errPastEnd = errors.New("the section ends early")

// ReadAt implements [io.ReaderAt].
func (s *section) ReadAt(p []byte, off int64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if off < 0 || uint64(off)+uint64(len(p)) > s.size {
		return 0, io.EOF
	}
	if s.kept != nil {
		if n, err := s.kept.ReadAt(p, off); err == nil {
			return n, nil
		}
		_ = os.Remove(s.path) // it was cut or changed
		s.kept = nil
	}
	if err := s.fill(uint64(off) + uint64(len(p))); err != nil {
		return 0, err
	}
	return s.file.ReadAt(p, off)
}

// atOnce is up to which size a section is decompressed whole, in bytes: a fifth of a second, once.
const atOnce = 32 << 20

// fill decompresses up to an offset; to the end where that is near, since only what has its end is kept.
func (s *section) fill(to uint64) error {
	if s.err != nil {
		return s.err
	}
	if to > s.size/2 || s.size <= atOnce {
		to = s.size
	}
	if s.filled >= to {
		return nil
	}
	if s.err = s.decompress(to); s.err == nil && s.filled == s.size {
		s.keep()
	}
	return s.err
}

func (s *section) decompress(to uint64) (err error) {
	if s.file == nil {
		if s.stream, err = s.open(); err != nil {
			return err
		}
		if s.file, err = s.cache.create(s.size); err != nil {
			return err
		}
	}
	buffer := make([]byte, stride)
	for s.filled < to {
		part := buffer[:min(stride, s.size-s.filled)]
		if _, err := io.ReadFull(s.stream, part); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				err = errPastEnd
			}
			return err
		}
		if _, err := s.file.WriteAt(part, int64(s.filled)); err != nil {
			return err
		}
		s.filled += uint64(len(part))
		for ; len(part) > 0; part = part[min(block, len(part)):] {
			s.sums = binary.LittleEndian.AppendUint32(s.sums, crc32.Checksum(part[:min(block, len(part))], table))
		}
	}
	return nil
}

// keep gives the section its name. Where that fails it is not kept: it can be read all the same.
func (s *section) keep() {
	if _, err := s.file.WriteAt(s.sums, int64(s.size)); err == nil {
		_ = os.Rename(s.file.Name(), s.path)
	}
	s.stream, s.sums = nil, nil
}
