package document

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/server/names"
)

// Document is a backtrace, an image map, or both, read as far as possible.
type Document struct {
	// Format is the format that the document was read from; [Unknown] for JSON.
	Format Format
	// Architecture is an envelope's: "x86_64". Empty if unknown.
	Architecture string
	// WordSize is 0 where not even that could be read.
	WordSize cbf.WordSize
	// Frames are innermost first, repeats expanded. Nil for an image map.
	Frames []cbf.Frame
	// Calls are the functions that each of Frames belongs to, the innermost inlined
	// one first, the physical function last. It is empty where no symbols were read.
	Calls [][]Call
	// Complete: the backtrace ended by an end instruction, or exactly where the
	// data ends. For an image map, all of it was read.
	Complete bool
	// Images is nil where there is no image map, or not even its word size could
	// be read.
	Images *imagemap.ImageMap
	// Err is the fault of the data, nil if there is none.
	Err *Error
	// Trailing is the number of bytes that follow the backtrace's end.
	Trailing int
	// Names says how WriteText shows names of functions.
	Names names.Style

	names *allowance // nil: without a limit
}

// Error is a fault of data, and its place.
type Error struct {
	// Part is the field of an envelope that Offset counts in, after its base64
	// was decoded: "backtrace" or "imageMap". Empty: the data itself.
	Part string
	// Offset is in bytes.
	Offset int64
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("offset %d: %s", e.Offset, e.Message()) }

// Message is the error without its offset.
func (e *Error) Message() string {
	if e.Part != "" {
		return e.Part + ": " + e.Err.Error()
	}
	return e.Err.Error()
}

// Unwrap is the reason.
func (e *Error) Unwrap() error { return e.Err }

// Format is one of the formats that documents are read from.
type Format uint8

// The formats.
const (
	Unknown Format = iota
	CBF
	ImageMap
	Swift
	JSON
	Pprof
)

var formatNames = [...]string{Unknown: "unknown", CBF: "cbf", ImageMap: "image-map", Swift: "swift", JSON: "json", Pprof: "pprof"}

// FormatNames are the names of the known formats.
func FormatNames() []string { return append([]string(nil), formatNames[CBF:]...) }

// String is the format's name on the command line.
func (f Format) String() string {
	if int(f) < len(formatNames) {
		return formatNames[f]
	}
	return fmt.Sprintf("format(%d)", uint8(f))
}

// ParseFormat reads what [Format.String] writes; "unknown" is refused.
func ParseFormat(s string) (Format, error) {
	if i := slices.Index(formatNames[:], s); i >= int(CBF) {
		return Format(i), nil
	}
	return Unknown, fmt.Errorf("unknown format %q; known: %s", s, strings.Join(FormatNames(), ", "))
}

// setBacktrace reads the backtrace.
func (d *Document) setBacktrace(data []byte, part string, opts cbf.DecodeOptions) {
	b, err := cbf.Decode(data, opts)
	d.WordSize, d.Frames, d.Complete, d.Trailing = b.WordSize, b.Frames, b.Complete, b.Trailing
	if at, ok := errors.AsType[*cbf.Error](err); ok {
		d.addError(&Error{Part: part, Offset: int64(at.Offset), Err: at.Err})
	} else if err != nil {
		d.addError(&Error{Part: part, Err: err})
	}
}

// setImages reads the image map.
func (d *Document) setImages(data []byte, part string, opts imagemap.DecodeOptions) {
	m, err := imagemap.Decode(data, opts)
	if m != nil && !d.addImages(m, part) {
		return
	}
	if err != nil {
		d.addError(mapError(err, part))
	}
}

// addImages takes an image map if its addresses can be the backtrace's.
func (d *Document) addImages(m *imagemap.ImageMap, part string) bool {
	ws := cbf.WordSize(m.WordSize())
	if d.WordSize != 0 && d.WordSize != ws {
		d.addError(&Error{Part: part, Err: fmt.Errorf("the image map has %d-bit words, the backtrace %d-bit ones", ws, d.WordSize)})
		return false
	}
	d.Images, d.WordSize = m, ws
	return true
}

// mapError makes one error of those that reading an image map can return: the one
// at which it stopped, and the paths that were lost before.
func mapError(err error, part string) *Error {
	var stop *imagemap.Error
	var paths imagemap.PathErrors
	errors.As(err, &paths)
	if errors.As(err, &stop) {
		reason := stop.Err
		if stop.Image >= 0 {
			reason = fmt.Errorf("image %d: %w", stop.Image, reason)
		}
		if len(paths) > 0 {
			reason = fmt.Errorf("%w (and %d paths before could not be read)", reason, len(paths))
		}
		return &Error{Part: part, Offset: int64(stop.Offset), Err: reason}
	}
	if len(paths) > 0 {
		first := paths[0]
		reason := fmt.Errorf("path of image %d at %#x: %w", first.Image, first.Base, first.Err)
		if len(paths) > 1 {
			reason = fmt.Errorf("%w (and of %d more images)", reason, len(paths)-1)
		}
		return &Error{Part: part, Offset: int64(first.Offset), Err: reason}
	}
	return &Error{Part: part, Err: err}
}

// addError keeps the first error's place, and what all of them say.
func (d *Document) addError(e *Error) {
	if d.Err == nil {
		d.Err = e
		return
	}
	d.Err = &Error{Part: d.Err.Part, Offset: d.Err.Offset, Err: fmt.Errorf("%w; %w", d.Err.Err, e)}
}
