package dapwire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// DefaultMaxContent bounds a message where nothing else is configured, in
// bytes. A stack of a million frames is about as long.
const DefaultMaxContent = 256 << 20

// Bounds of a message's header.
const (
	maxHeaderLine  = 4096
	maxHeaderLines = 32
)

// FramingError says that the bytes are not a message. Where the next message begins is
// not known then.
type FramingError struct {
	Offset int64 // of the header's line, in bytes from the beginning of the stream
	Why    string
}

// Error says where and what.
func (e *FramingError) Error() string {
	return fmt.Sprintf("malformed message at offset %d: %s", e.Offset, e.Why)
}

// LongError says that a message is longer than it may be. It was skipped: the
// next one can be read.
type LongError struct {
	Offset int64  // of its content, in bytes from the beginning of the stream
	Length int    // in bytes
	Limit  int    // in bytes
	Begin  []byte // the first bytes of the content
}

// Error says how long it is.
func (e *LongError) Error() string {
	return fmt.Sprintf("a message at offset %d has %d bytes, above the limit of %d", e.Offset, e.Length, e.Limit)
}

// Reader reads messages.
type Reader struct {
	r      *bufio.Reader
	max    int
	skips  bool // messages that are too long, instead of taking them for malformed
	offset int64
}

// NewReader reads messages of at most maxContent bytes; 0 means
// [DefaultMaxContent].
func NewReader(r io.Reader, maxContent int) *Reader {
	if maxContent <= 0 {
		maxContent = DefaultMaxContent
	}
	return &Reader{r: bufio.NewReaderSize(r, 64<<10), max: maxContent}
}

// NewSkippingReader is [NewReader] for a stream whose lengths can be trusted:
// instead of an end, a message that is too long is a [*LongError].
func NewSkippingReader(r io.Reader, maxContent int) *Reader {
	out := NewReader(r, maxContent)
	out.skips = true
	return out
}

// Read returns the content of the next message. The error is io.EOF where the
// stream ends between messages, io.ErrUnexpectedEOF within one, and a
// [*FramingError] where it holds no message.
func (r *Reader) Read() ([]byte, error) {
	length := -1
	for n := 0; ; n++ {
		at := r.offset
		line, err := r.line()
		if err != nil {
			if errors.Is(err, io.EOF) && (n > 0 || r.offset > at) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if line == "" {
			if length < 0 {
				return nil, &FramingError{at, "no Content-Length"}
			}
			return r.content(length)
		}
		if n == maxHeaderLines {
			return nil, &FramingError{at, fmt.Sprintf("more than %d header lines", maxHeaderLines)}
		}
		if length, err = r.field(line, length); err != nil {
			return nil, &FramingError{at, err.Error()}
		}
	}
}

// field reads a header field. It returns the length, which is -1 until its field.
func (r *Reader) field(line string, length int) (int, error) {
	name, value, ok := strings.Cut(line, ":")
	if !ok {
		return 0, fmt.Errorf("%.40q is no header field", line)
	}
	if !strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
		return length, nil // the protocol may add fields
	}
	if length >= 0 {
		return 0, errors.New("a second Content-Length")
	}
	return r.length(strings.TrimSpace(value))
}

// length reads a length in bytes: decimal digits only, within the bound.
func (r *Reader) length(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("Content-Length %.40q is not a number of bytes", s)
	}
	if n > uint64(r.max) && !r.skips {
		return 0, fmt.Errorf("Content-Length %d is above the limit of %d bytes", n, r.max)
	}
	return int(n), nil
}

// line reads a line without its end (CR LF; LF alone is taken as well).
func (r *Reader) line() (string, error) {
	at := r.offset
	var line []byte
	for {
		part, err := r.r.ReadSlice('\n')
		r.offset += int64(len(part))
		line = append(line, part...)
		if len(line) > maxHeaderLine {
			return "", &FramingError{at, fmt.Sprintf("a header line of more than %d bytes", maxHeaderLine)}
		}
		if err == nil {
			return string(bytes.TrimSuffix(line[:len(line)-1], []byte("\r"))), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return "", err
		}
	}
}

// firstPiece is how much is allocated on the word of a header alone.
const firstPiece = 1 << 20

// longBegin is how much is kept of a message that is skipped: it says what the
// message is.
const longBegin = 4 << 10

// skip reads over a message that is too long.
func (r *Reader) skip(length int) error {
	e := &LongError{Offset: r.offset, Length: length, Limit: r.max, Begin: make([]byte, min(length, longBegin))}
	n, err := io.ReadFull(r.r, e.Begin)
	r.offset += int64(n)
	if err == nil {
		var rest int64
		rest, err = io.CopyN(io.Discard, r.r, int64(length-n))
		r.offset += rest
	}
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	return e
}

func (r *Reader) content(length int) ([]byte, error) {
	if length > r.max {
		return nil, r.skip(length)
	}
	buf := make([]byte, min(length, firstPiece))
	for have := 0; ; {
		n, err := io.ReadFull(r.r, buf[have:])
		r.offset += int64(n)
		have += n
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if have == length {
			return buf, nil
		}
		// What came pays for twice as much.
		bigger := make([]byte, min(length, 2*have))
		copy(bigger, buf)
		buf = bigger
	}
}

// Write writes one message.
func Write(w io.Writer, content []byte) error {
	frame := make([]byte, 0, len(content)+40)
	frame = append(frame, "Content-Length: "...)
	frame = strconv.AppendInt(frame, int64(len(content)), 10)
	frame = append(frame, "\r\n\r\n"...)
	_, err := w.Write(append(frame, content...))
	return err
}
