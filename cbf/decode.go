package cbf

import (
	"cmp"
	"fmt"
	"iter"
)

// DecodeOptions chooses the dialect that is accepted. The zero value reads the
// document's dialect and Swift's.
type DecodeOptions struct {
	// Strict accepts the document's dialect only: the first address must be
	// absolute, rep is an unknown instruction, and no operand may be longer
	// than the machine word.
	Strict bool
	// MaxRepeat is the most repeats that one rep may ask for; 0 means
	// [MaxRepeat].
	MaxRepeat uint64
	// MaxFrames is how many frames [Decode] collects before it stops; 0 means
	// [MaxFrames]. The Decoder itself has no such limit.
	MaxFrames int
}

// Decoder reads the frames of one backtrace, innermost first. It allocates
// nothing (but for an error) and keeps a reference to the data, which must not
// change meanwhile. A Decoder must not be used by several goroutines at once.
type Decoder struct {
	data     []byte
	opts     DecodeOptions
	pos      int // offset of the next byte
	ws       WordSize
	frame    Frame
	repeats  uint64 // occurrences of frame still to come
	address  uint64 // the last computed address
	hasAddr  bool
	done     bool
	complete bool
	err      *Error
}

// NewDecoder prepares to read data. If the information byte is invalid,
// [Decoder.Err] reports it at once, and Next finds no frame.
func NewDecoder(data []byte, opts DecodeOptions) *Decoder {
	d := new(Decoder)
	d.Reset(data, opts)
	return d
}

// Reset starts over with other data.
func (d *Decoder) Reset(data []byte, opts DecodeOptions) {
	opts.MaxRepeat = cmp.Or(opts.MaxRepeat, MaxRepeat)
	*d = Decoder{data: data, opts: opts}
	if len(data) == 0 {
		d.fail(0, fmt.Errorf("%w: no information byte", ErrUnexpectedEnd))
		return
	}
	info := data[0]
	switch {
	case info>>2 != 0:
		d.fail(0, fmt.Errorf("%w %d", ErrVersion, info>>2))
		return
	case info&3 == 3:
		d.fail(0, fmt.Errorf("%w: code 3 is reserved", ErrWordSize))
		return
	}
	d.ws = Word16 << (info & 3)
	d.pos = 1
}

// WordSize is that of the data; 0 when the information byte is not valid.
func (d *Decoder) WordSize() WordSize { return d.ws }

// Frame is the frame that the last successful Next found.
func (d *Decoder) Frame() Frame { return d.frame }

// Err is nil or an [*Error]: where reading stopped, and why. Frames found before
// remain valid.
func (d *Decoder) Err() error {
	if d.err == nil {
		return nil // not a nil *Error in a non-nil interface
	}
	return d.err
}

// Complete reports, once Next has returned false, whether the backtrace ended
// by an end instruction or exactly where the data ends. It is false after trunc
// and after an error.
func (d *Decoder) Complete() bool { return d.complete }

// Offset is the number of bytes read so far.
func (d *Decoder) Offset() int { return d.pos }

// Trailing is the number of bytes that follow the end or trunc instruction.
// They are not part of the backtrace. It is 0 until Next has returned false and after
// an error.
func (d *Decoder) Trailing() int {
	if !d.done || d.err != nil {
		return 0
	}
	return len(d.data) - d.pos
}

// All yields the frames that are still to come, then, if reading stopped early,
// one zero Frame with the error.
func (d *Decoder) All() iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		for d.Next() {
			if !yield(d.frame, nil) {
				return
			}
		}
		if d.err != nil {
			yield(Frame{}, d.err)
		}
	}
}

// Next advances to the next frame and reports whether there is one. A trunc
// instruction is a last frame of kind Truncated.
func (d *Decoder) Next() bool {
	if d.repeats > 0 {
		d.repeats--
		return true
	}
	for !d.done {
		if d.pos == len(d.data) {
			d.done, d.complete = true, true
			return false
		}
		start := d.pos
		op := d.data[start]
		d.pos++
		switch {
		case op == opEnd:
			d.done, d.complete = true, true
			return false
		case op == opTrunc:
			d.done = true
			d.frame = Frame{Kind: Truncated}
			return true
		case op >= opPC && op < opOmit:
			return d.readAddress(start, op)
		case op >= opOmit && op < opRep:
			return d.readOmit(start, op)
		case op >= opRep && op < opRep+0x10 && !d.opts.Strict:
			if d.readRep(start, op) {
				return true
			}
			// A count of 0 repeats nothing: read on, unless it failed.
		default:
			return d.fail(start, fmt.Errorf("%w %#02x", ErrOpcode, op))
		}
	}
	return false
}

// readAddress reads the operand of a pc, ra or async instruction.
func (d *Decoder) readAddress(start int, op byte) bool {
	n := int(op&7) + 1
	absolute := op&flagAbsolute != 0
	if d.opts.Strict {
		switch {
		case !absolute && !d.hasAddr:
			return d.fail(start, ErrRelativeFirst)
		case n > int(d.ws)/8:
			return d.fail(start, fmt.Errorf("%w: %d bytes", ErrOperand, n))
		}
	}
	rest := d.data[d.pos:]
	if len(rest) < n {
		return d.failShort(start, n)
	}
	value := uint64(int64(int8(rest[0]))) // sign-extends
	for _, b := range rest[1:n] {
		value = value<<8 | uint64(b)
	}
	d.pos += n
	if !absolute {
		value += d.address // from 0 when it is the first
	}
	// Wraps at the word size; that also takes an operand longer than the word.
	d.address, d.hasAddr = value&d.ws.Max(), true
	d.frame = Frame{Kind: Kind(op>>4-1) + PC, Address: d.address}
	return true
}

// readOmit reads an omit instruction.
func (d *Decoder) readOmit(start int, op byte) bool {
	count, ok := d.readCount(start, op, flagOmitLong)
	if !ok {
		return false
	}
	if count > d.ws.Max() {
		return d.fail(start, fmt.Errorf("%w: %d frames omitted", ErrOperand, count))
	}
	d.frame = Frame{Kind: Omitted, Count: count}
	return true
}

// readRep reads a rep instruction, and reports whether it repeats a frame.
func (d *Decoder) readRep(start int, op byte) bool {
	count, ok := d.readCount(start, op, flagRepLong)
	switch {
	case !ok || count == 0 && d.frame.Kind != 0:
		return false
	case d.frame.Kind == 0:
		return d.fail(start, ErrNothingToRepeat)
	case count > d.opts.MaxRepeat:
		return d.fail(start, fmt.Errorf("%w: %d, at most %d", ErrRepeatLimit, count, d.opts.MaxRepeat))
	}
	d.repeats = count - 1
	return true
}

// readCount reads the count of an omit or rep: in the bits below long, or, where
// long is set, in as many bytes as they say.
func (d *Decoder) readCount(start int, op, long byte) (count uint64, ok bool) {
	n := int(op&(long-1)) + 1
	if op&long == 0 {
		return uint64(n), true
	}
	rest := d.data[d.pos:]
	if d.opts.Strict && n > int(d.ws)/8 {
		return 0, d.fail(start, fmt.Errorf("%w: %d bytes", ErrOperand, n))
	}
	if len(rest) < n {
		return 0, d.failShort(start, n)
	}
	for _, b := range rest[:n] {
		if count>>56 != 0 {
			return 0, d.fail(start, fmt.Errorf("%w: %d bytes", ErrOperand, n))
		}
		count = count<<8 | uint64(b)
	}
	d.pos += n
	return count, true
}

// fail ends reading at the instruction that starts at offset. It returns false.
func (d *Decoder) fail(offset int, err error) bool {
	d.done, d.repeats = true, 0
	d.pos = offset
	d.err = &Error{Offset: offset, Err: err}
	return false
}

func (d *Decoder) failShort(start, need int) bool {
	return d.fail(start, fmt.Errorf("%w: operand of %d bytes, %d left", ErrUnexpectedEnd, need, len(d.data)-start-1))
}

// Backtrace is a whole backtrace, read.
type Backtrace struct {
	// WordSize is 0 when the information byte was not valid.
	WordSize WordSize
	// Frames are in the order of the data, innermost first, repeats expanded.
	Frames []Frame
	// Complete, Trailing: see the methods of Decoder.
	Complete bool
	Trailing int
}

// Decode reads a whole backtrace. When it fails the error is an [*Error] and the
// backtrace holds the frames found before.
func Decode(data []byte, opts DecodeOptions) (Backtrace, error) {
	limit := opts.MaxFrames
	if limit <= 0 {
		limit = MaxFrames
	}
	var d Decoder
	d.Reset(data, opts)
	b := Backtrace{WordSize: d.ws}
	for d.Next() {
		if len(b.Frames) == limit {
			// With repeats pending, their rep ends here; else the frame itself.
			return b, &Error{Offset: d.pos, Err: fmt.Errorf("%w: more than %d", ErrFrameLimit, limit)}
		}
		b.Frames = append(b.Frames, d.frame)
	}
	b.Complete, b.Trailing = d.Complete(), d.Trailing()
	return b, d.Err()
}
