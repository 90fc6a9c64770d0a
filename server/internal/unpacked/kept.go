package unpacked

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// kept is a section in the cache: its contents, and behind them the checksum of each block.
type kept struct {
	file *os.File
	size uint64

	mu      sync.Mutex
	sums    []byte
	checked []bool // blocks whose checksum was right
	buffer  []byte // for one block
}

// openKept opens a section in the cache, nil if it is not there.
func openKept(path string, size uint64) *kept {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	blocks := (size + block - 1) / block
	info, err := file.Stat()
	sums := make([]byte, 4*blocks)
	if err == nil && (!info.Mode().IsRegular() || !own(info) || info.Size() != int64(size)+int64(len(sums))) {
		err = errDamaged
	}
	if err == nil {
		_, err = file.ReadAt(sums, int64(size))
	}
	if err != nil {
		_ = file.Close() // nothing was written
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // it is used
	return &kept{file: file, size: size, sums: sums, checked: make([]bool, blocks)}
}

var errDamaged = errors.New("a section in the cache is damaged")

// ReadAt implements [io.ReaderAt]. It fails where a checksum is wrong.
func (k *kept) ReadAt(p []byte, off int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	first, last := uint64(off)/block, (uint64(off)+uint64(len(p))-1)/block
	for i := first; i <= last; i++ {
		if k.checked[i] {
			continue
		}
		if k.buffer == nil {
			k.buffer = make([]byte, block)
		}
		data := k.buffer[:min(block, k.size-i*block)]
		if _, err := k.file.ReadAt(data, int64(i*block)); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if crc32.Checksum(data, table) != binary.LittleEndian.Uint32(k.sums[4*i:]) {
			return 0, errDamaged
		}
		k.checked[i] = true
	}
	return k.file.ReadAt(p, off)
}
