//go:build amd64 || arm64

package glance

import (
	"golang.org/x/sys/unix"

	"github.com/clewdbg/clew/server/internal/procfs"
	"github.com/clewdbg/clew/unwind"
)

// maxPieces is how many ranges the kernel reads in one call (UIO_MAXIOV).
const maxPieces = 1024

// readRanges copies ranges into buf, which has room for all, and adds them to out. One that cannot be read is
// left out.
func readRanges(pid int, ranges []unwind.Range, buf []byte, out []unwind.Window) []unwind.Window {
	pieces := make([]unix.RemoteIovec, 0, min(maxPieces, len(ranges)))
	for len(ranges) > 0 {
		pieces = pieces[:0]
		want := 0
		for _, r := range ranges[:min(len(ranges), maxPieces)] {
			size := int(r.End - r.Start)
			pieces = append(pieces, unix.RemoteIovec{Base: uintptr(r.Start), Len: size})
			want += size
		}
		got, _ := procfs.ReadPieces(pid, pieces, buf[:want])
		done := 0
		for _, r := range ranges[:len(pieces)] {
			size := int(r.End - r.Start)
			if got < size {
				break
			}
			out = append(out, unwind.Window{Addr: r.Start, Data: buf[:size:size]})
			buf, got, done = buf[size:], got-size, done+1
		}
		if done < len(pieces) { // this one cannot be read
			buf = buf[ranges[done].End-ranges[done].Start:]
			done++
		}
		ranges = ranges[done:]
	}
	return out
}

// reserve returns memory that takes no room until it is used.
func reserve(n int) []byte {
	room, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return make([]byte, n)
	}
	_ = unix.Madvise(room, unix.MADV_HUGEPAGE) // it is faster, where the kernel has it
	return room
}
