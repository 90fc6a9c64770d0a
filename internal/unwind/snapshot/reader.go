package snapshot

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// DefaultMaxLine is the default limit of a line's length, in bytes.
const DefaultMaxLine = 256 << 20

// memoryFactor bounds the memory of a line's values, in multiples of the
// longest line: the shortest field of a list is a few bytes long, and a frame
// or a thread takes several hundred.
const memoryFactor = 5

// Options are a reader's options.
type Options struct {
	// MaxLine bounds a line's length in bytes; 0 is [DefaultMaxLine]. The values
	// of one line never take more than four times that.
	MaxLine int
}

func (o Options) maxLine() int {
	if o.MaxLine <= 0 {
		return DefaultMaxLine
	}
	return o.MaxLine
}

// Reader reads snapshots from a stream, one a line.
type Reader struct {
	in   *bufio.Reader
	opts Options
	line int
	buf  []byte // a line's bytes, used again for the next one
}

// NewReader makes a reader.
func NewReader(r io.Reader, opts Options) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, 64<<10), opts: opts}
}

// Line is the number of the line that was read last, from 1.
func (r *Reader) Line() int { return r.line }

// Buffered reports whether more text is there without a wait.
func (r *Reader) Buffered() bool { return r.in.Buffered() > 0 }

// All yields each line's snapshot or a [*LineError]. After a line that cannot
// be used it goes on with the next one; after a failure of the stream itself it
// ends. Blank lines are passed over.
func (r *Reader) All() iter.Seq2[*Snapshot, error] {
	return func(yield func(*Snapshot, error) bool) {
		for text, err := range r.Lines() {
			var s *Snapshot
			if err == nil {
				s, err = r.opts.Parse(text, r.line)
			}
			if !yield(s, err) {
				return
			}
		}
	}
}

// Parse reads the snapshot of a line. The error is a [*LineError].
func (o Options) Parse(text []byte, line int) (*Snapshot, error) {
	s, err := parse(text, o)
	if err != nil {
		return nil, &LineError{Line: line, Err: err}
	}
	return s, nil
}

// Lines is [Reader.All] with lines that are not parsed yet. A line is valid until the next.
func (r *Reader) Lines() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for {
			text, tooLong, ioErr := r.next()
			switch {
			case ioErr != nil && !errors.Is(ioErr, io.EOF):
				yield(nil, &LineError{Line: r.line, Err: fmt.Errorf("cannot be read: %w", ioErr)})
				return
			case tooLong:
				err := fmt.Errorf("%w: more than %d bytes", ErrLineTooLong, r.opts.maxLine())
				if !yield(nil, &LineError{Line: r.line, Err: err}) {
					return
				}
			case len(bytes.TrimSpace(text)) > 0:
				if !yield(text, nil) {
					return
				}
			}
			if ioErr != nil {
				return
			}
		}
	}
}

// maxPassed bounds what is read of a line that is too long, in bytes: /dev/zero has one
// line without an end.
const maxPassed = 2 << 30

// next reads a line without its end. A line that is too long is read to its end
// but not kept.
func (r *Reader) next() (line []byte, tooLong bool, err error) {
	r.buf = r.buf[:0]
	r.line++
	for size := 0; ; {
		piece, err := r.in.ReadSlice('\n')
		tooLong = tooLong || len(r.buf)+len(bytes.TrimSuffix(piece, []byte("\n"))) > r.opts.maxLine()
		if !tooLong {
			r.buf = append(r.buf, piece...)
		}
		if size += len(piece); size > maxPassed && size > r.opts.maxLine() {
			return nil, true, fmt.Errorf("%w: more than %d bytes, and no end of the line", ErrLineTooLong, size)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSuffix(r.buf, []byte("\n")), tooLong, err
		}
	}
}

// Parse reads one snapshot. The error is a [*SyntaxError] or a [*FieldError].
func Parse(data []byte) (*Snapshot, error) { return parse(data, Options{}) }
