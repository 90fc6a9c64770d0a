package corefile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"

	"github.com/klauspost/compress/zstd"
	"github.com/mikelolasagasti/xz"
	"github.com/pierrec/lz4/v4"

	"github.com/clewdbg/clew/internal/elffile"
)

// Plain is a core file that is not compressed, or was expanded.
type Plain struct {
	Path string // where it can be opened until Close
	Cut  bool   // the compressed file is cut off: what is there was expanded
	name string // what the user calls it
	temp *os.File
}

type compression struct {
	magic   string
	open    func(io.Reader) (io.Reader, error)
	command string // by which a user expands it
}

// compressions are those of systemd-coredump, by the bytes that files begin with.
var compressions = []compression{
	{"\x28\xb5\x2f\xfd", openZstd, "zstd -d"},
	{"\x04\x22\x4d\x18", func(r io.Reader) (io.Reader, error) { return lz4.NewReader(r), nil }, "lz4 -d"},
	{"\xfd7zXZ\x00", func(r io.Reader) (io.Reader, error) { return xz.NewReader(r, xz.DefaultDictMax) }, "xz -dk"},
}

const (
	// maxExpanded bounds a core file, expanded, in bytes. Zeros take no room on the disk.
	maxExpanded = 256 << 30
	// maxWindow bounds what expanding keeps in memory: zstd --long=27 needs as much.
	maxWindow = 128 << 20
	// hole is the least number of zeros that are not written.
	hole = 4 << 10
)

var errTooLarge = fmt.Errorf("it has more than %d GiB, expanded", maxExpanded>>30)

func openZstd(r io.Reader) (io.Reader, error) {
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
}

// Check refuses a core file that Delve cannot be given: one that is compressed, and then it says how to
// expand it, and one whose notes Delve does not survive or end with. Other faults are for Delve to say. The
// error is an [*Error].
func Check(path string) error {
	f, _, err := elffile.OpenRegular(path)
	switch {
	case errors.Is(err, elffile.ErrNotRegular): // Delve would wait for a pipe
		return &Error{path, err}
	case err != nil:
		return nil // opening it says why
	}
	defer f.Close()
	if i := compressionOf(f); i >= 0 {
		return &Error{path, fmt.Errorf("it is compressed; expand it first: %s %s", compressions[i].command, path)}
	}
	core, err := Open(path)
	if err == nil {
		_ = core.Close()
	}
	if errors.Is(err, errNoNotes) || errors.Is(err, errLongNote) || errors.Is(err, errMany) {
		return err
	}
	return nil
}

// compressionOf returns the index of a file's compression, -1 for none.
func compressionOf(f io.ReaderAt) int {
	var magic [6]byte
	n, _ := f.ReadAt(magic[:], 0)
	return slices.IndexFunc(compressions, func(c compression) bool { return bytes.HasPrefix(magic[:n], []byte(c.magic)) })
}

// Expand expands a core file into the folder for temporary files (TMPDIR). One that is not
// compressed is used as it is. progress is told how many bytes there are. The expanded
// file is gone when this process ends, however it ends. Of a .zst or .lz4 that is cut off,
// what is there is used. The errors are [*Error].
func Expand(ctx context.Context, path string, progress func(bytes int)) (*Plain, error) {
	plain := &Plain{Path: path, name: path}
	f, _, err := elffile.OpenRegular(path)
	if err != nil {
		return plain, nil // Open says why
	}
	defer f.Close()
	i := compressionOf(f)
	if i < 0 {
		return plain, nil
	}
	r, err := compressions[i].open(f)
	if err == nil {
		err = plain.fill(ctx, r, progress)
	}
	if err != nil {
		_ = plain.Close()
		return nil, &Error{path, fmt.Errorf("expand it: %w", err)}
	}
	return plain, nil
}

// fill makes the temporary file of what r has.
func (p *Plain) fill(ctx context.Context, r io.Reader, progress func(int)) (err error) {
	if p.temp, err = os.CreateTemp("", "clew-core-"); err != nil {
		return err
	}
	p.Path = p.temp.Name()
	if runtime.GOOS == "linux" { // it stays there without a name
		if err := os.Remove(p.Path); err != nil {
			return err
		}
		p.Path = fmt.Sprintf("/proc/self/fd/%d", p.temp.Fd())
	}
	size := int64(0)
	for buf := make([]byte, 1<<20); ; {
		n, err := readFull(r, buf)
		if err := writeSparse(p.temp, buf[:n], size); err != nil {
			return err
		}
		size += int64(n)
		progress(n)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			p.Cut = !errors.Is(err, io.EOF)
			return p.temp.Truncate(size) // it may end in zeros
		case err != nil:
			return err
		case size > maxExpanded:
			return errTooLarge
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
	}
}

// readFull reads until buf is full, or r says why not: at the end of what is whole that is
// [io.EOF].
func readFull(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var m int
		m, err = r.Read(buf[n:])
		n += m
	}
	return n, err
}

var zeros [hole]byte

// writeSparse writes data at an offset, but for blocks of zeros.
func writeSparse(f io.WriterAt, data []byte, at int64) error {
	for len(data) > 0 {
		n := 0 // bytes before the next block of zeros
		for n < len(data) && !bytes.Equal(data[n:min(n+hole, len(data))], zeros[:min(hole, len(data)-n)]) {
			n = min(n+hole, len(data))
		}
		if n == 0 {
			n = min(hole, len(data))
		} else if _, err := f.WriteAt(data[:n], at); err != nil {
			return err
		}
		data, at = data[n:], at+int64(n)
	}
	return nil
}

// Open opens the core file. The errors are [*Error].
func (p *Plain) Open() (*File, error) { return open(p.name, p.Path) }

// Close removes what was expanded. Files that were opened stay open.
func (p *Plain) Close() error {
	if p.temp == nil {
		return nil
	}
	_ = os.Remove(p.temp.Name()) // as a rule it has no name any more
	return p.temp.Close()
}
