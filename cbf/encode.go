package cbf

import (
	"fmt"
	"math/bits"
)

// EncodeOptions chooses the dialect that is written.
type EncodeOptions struct {
	// Strict keeps to the instructions of the format's document: no rep.
	Strict bool
}

// Ending says how a backtrace ends.
type Ending uint8

const (
	// EndNone writes nothing: the backtrace is complete and its container
	// knows its length.
	EndNone Ending = iota
	// EndMark writes end: the backtrace is complete.
	EndMark
	// EndTruncated writes trunc: the backtrace was cut short.
	EndTruncated
)

// Encoder writes one backtrace, frame by frame, to the end of a byte slice. It
// allocates only when the slice must grow. Each frame takes the shortest form;
// where absolute and relative are equally long it is relative, as in Swift.
//
// The zero value is not ready: use [NewEncoder] or [Encoder.Reset]. An Encoder
// must not be used by several goroutines at once.
type Encoder struct {
	buf      []byte
	ws       WordSize
	strict   bool
	finished bool
	hasAddr  bool // an address was written, so that a relative one has its base
	ending   Ending
	address  uint64 // the last address written
	last     Frame  // the last frame written; zero before the first
	repeats  uint64 // occurrences of last that are not written yet
}

// NewEncoder starts a backtrace at the end of dst, which may be nil.
func NewEncoder(dst []byte, ws WordSize, opts EncodeOptions) *Encoder {
	e := new(Encoder)
	e.Reset(dst, ws, opts)
	return e
}

// Reset starts another backtrace at the end of dst. A word size that is not
// valid is reported by the calls that follow.
func (e *Encoder) Reset(dst []byte, ws WordSize, opts EncodeOptions) {
	*e = Encoder{buf: dst, ws: ws, strict: opts.Strict}
	if ws.Valid() {
		e.buf = append(e.buf, ws.code()) // version 0 in the upper bits
	}
}

// Append adds one frame, the next outer one. A frame equal to the one before is
// only counted, and written as rep when another follows, or at Finish. A
// Truncated frame ends the backtrace.
//
// A frame that cannot be expressed is refused with a [*FrameError] and leaves
// no trace; the encoder goes on. Fields that the frame's kind does not use are
// ignored.
func (e *Encoder) Append(f Frame) error {
	if err := e.ready(); err != nil {
		return err
	}
	switch f.Kind {
	case PC, RA, Async:
		if f.Address > e.ws.Max() {
			return &FrameError{f, ErrAddressRange}
		}
		f.Count = 0
	case Omitted:
		if f.Count > e.ws.Max() {
			return &FrameError{f, ErrCountRange}
		}
		f.Address = 0
	case Truncated:
		e.end(EndTruncated)
		return nil
	default:
		return &FrameError{f, ErrKind}
	}

	if f == e.last && !e.strict {
		// Readers refuse a rep above MaxRepeat, so a longer run is split.
		if e.repeats++; e.repeats == MaxRepeat {
			e.flush()
		}
		return nil
	}
	e.flush()
	e.last = f
	switch f.Kind {
	case PC:
		e.putAddress(opPC, f.Address)
	case RA:
		e.putAddress(opRA, f.Address)
	case Async:
		e.putAddress(opAsync, f.Address)
	case Omitted:
		e.putCount(opOmit, flagOmitLong, f.Count)
	}
	return nil
}

// Finish ends the backtrace and returns the slice with it. After a Truncated
// frame the end is already written: EndNone and EndTruncated then add nothing,
// EndMark is refused with [ErrFinished].
func (e *Encoder) Finish(ending Ending) ([]byte, error) {
	if e.finished && e.ending == EndTruncated && ending != EndMark {
		e.ending = EndNone // a second Finish is refused
		return e.buf, nil
	}
	if err := e.ready(); err != nil {
		return nil, err
	}
	e.end(ending)
	e.ending = EndNone
	return e.buf, nil
}

// ready reports why no frame can be added, if so.
func (e *Encoder) ready() error {
	if !e.ws.Valid() {
		return fmt.Errorf("cbf: %w: %d bits", ErrWordSize, e.ws)
	}
	if e.finished {
		return ErrFinished
	}
	return nil
}

func (e *Encoder) end(ending Ending) {
	e.flush()
	switch ending {
	case EndMark:
		e.buf = append(e.buf, opEnd)
	case EndTruncated:
		e.buf = append(e.buf, opTrunc)
	}
	e.finished, e.ending = true, ending
}

// flush writes the repeats that were only counted so far.
func (e *Encoder) flush() {
	if e.repeats > 0 {
		e.putCount(opRep, flagRepLong, e.repeats)
		e.repeats = 0
	}
}

func (e *Encoder) putAddress(op byte, address uint64) {
	value := (address - e.address) & e.ws.Max()
	n := e.ws.signedLen(value)
	if abs := e.ws.signedLen(address); abs < n || !e.hasAddr {
		value, n = address, abs
		op |= flagAbsolute
	}
	e.address, e.hasAddr = address, true
	e.buf = appendBig(append(e.buf, op|byte(n-1)), value, n)
}

// putCount writes an omit or rep. The bit below long and all under it hold
// count-1 in the short form.
func (e *Encoder) putCount(op, long byte, count uint64) {
	if count-1 < uint64(long) { // false for 0, which only the long form holds
		e.buf = append(e.buf, op|byte(count-1))
		return
	}
	n := max(1, (bits.Len64(count)+7)/8)
	e.buf = appendBig(append(e.buf, op|long|byte(n-1)), count, n)
}

// appendBig appends the n lowest bytes of v, most significant first.
func appendBig(dst []byte, v uint64, n int) []byte {
	for shift := 8 * (n - 1); shift >= 0; shift -= 8 {
		dst = append(dst, byte(v>>shift))
	}
	return dst
}

// AppendFrames writes a whole backtrace to the end of dst.
func AppendFrames(dst []byte, ws WordSize, frames []Frame, ending Ending, opts EncodeOptions) ([]byte, error) {
	var e Encoder
	e.Reset(dst, ws, opts)
	for i, f := range frames {
		if err := e.Append(f); err != nil {
			return nil, fmt.Errorf("frame %d: %w", i, err)
		}
	}
	return e.Finish(ending)
}
