package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/imagemap/envelope"
)

// Options choose how data is read.
type Options struct {
	// Format is the data's format; [Unknown]: see [Recognise].
	Format Format
	// Name is the file's, of which the extension helps to recognise the format.
	Name string
	// NoPlatform reads image maps without a platform field, as Swift before 6.2
	// wrote them. The data does not tell.
	NoPlatform bool
	// Images is the image map of backtraces that come without one; nil: none.
	Images *imagemap.ImageMap
	// MaxFrames is how many frames of a backtrace are read; 0 means
	// [cbf.MaxFrames].
	MaxFrames int
}

func (o Options) backtraces() cbf.DecodeOptions { return cbf.DecodeOptions{MaxFrames: o.MaxFrames} }

func (o Options) maps() imagemap.DecodeOptions {
	return imagemap.DecodeOptions{NoPlatform: o.NoPlatform}
}

// Read yields the documents in data: one, except that there can be any number of
// Swift's envelopes. A document's fault is in its Err. Documents are
// read one at a time, since a few bytes can stand for a million frames.
func Read(data []byte, o Options) iter.Seq[*Document] {
	format := o.Format
	if format == Unknown {
		format = Recognise(data, o)
	}
	names := newAllowance(len(data))
	return func(all func(*Document) bool) {
		yield := func(d *Document) bool {
			d.names = names
			return all(d)
		}
		d := &Document{Format: format}
		switch format {
		case CBF:
			d.setBacktrace(data, "", o.backtraces())
			if o.Images != nil && d.WordSize != 0 {
				d.addImages(o.Images, "")
			}
		case ImageMap:
			d.setImages(data, "", o.maps())
			d.Complete = d.Err == nil
		case Swift, JSON:
			readObjects(data, format, o, yield)
			return
		case Pprof:
			readProfile(data, yield)
			return
		default:
			d.Err = &Error{Err: fmt.Errorf("cannot read %v", format)}
		}
		yield(d)
	}
}

// Recognise tells the format of data by its contents, see the package comment.
func Recognise(data []byte, o Options) Format {
	switch {
	case isJSON(data):
		return Swift // or JSON: each object tells
	case bytes.HasPrefix(data, []byte(gzipMagic)):
		return Pprof
	}
	backtrace := tryBacktrace(data, o.MaxFrames)
	images := tryImages(data, o.maps())
	extension := strings.ToLower(filepath.Ext(o.Name))
	switch whole := len(data); {
	case backtrace == whole && images == whole:
		if extension == ".cif" {
			return ImageMap
		}
		return CBF
	case backtrace == whole:
		return CBF
	case images == whole:
		return ImageMap
	case extension == ".cbf":
		return CBF
	case extension == ".cif" || images > backtrace:
		return ImageMap
	}
	return CBF
}

func isJSON(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{"))
}

// tryBacktrace says how many bytes of data are a backtrace: all of them only if
// nothing is wrong with it, -1 if not even the word size can be read. (No data at
// all is therefore not a backtrace that was read to its end.)
func tryBacktrace(data []byte, limit int) int {
	if limit <= 0 {
		limit = cbf.MaxFrames
	}
	d := cbf.NewDecoder(data, cbf.DecodeOptions{})
	if d.WordSize() == 0 {
		return -1
	}
	for n := 0; d.Next(); n++ {
		if n == limit { // a few bytes of repeats; Decode stops there too
			return min(d.Offset(), len(data)-1)
		}
	}
	return d.Offset() // of the instruction that cannot be read, where there is one
}

// tryImages is tryBacktrace for image maps. Paths that make no sense do not stop
// the reading of a map.
func tryImages(data []byte, opts imagemap.DecodeOptions) int {
	m, err := imagemap.Decode(data, opts)
	var stop *imagemap.Error
	switch {
	case m == nil:
		return -1
	case errors.As(err, &stop):
		return min(stop.Offset, len(data)-1) // the offset of a missing part can be the end
	}
	return len(data)
}

// readObjects reads a sequence of JSON objects: envelopes, and clew's own.
func readObjects(data []byte, format Format, o Options, yield func(*Document) bool) {
	dec := json.NewDecoder(bytes.NewReader(data))
	for {
		var text json.RawMessage
		start := dec.InputOffset()
		err := dec.Decode(&text)
		if errors.Is(err, io.EOF) {
			return
		}
		start += int64(len(data[start:]) - len(bytes.TrimLeft(data[start:], " \t\r\n")))
		if err != nil {
			// Data behind a syntax error cannot be told apart from it.
			yield(&Document{Format: format, Err: syntaxError(err, int64(len(data)))})
			return
		}
		for _, d := range readObject(text, start, format, o) {
			if !yield(d) {
				return
			}
		}
	}
}

// syntaxError places an error of encoding/json, whose offset is that of the byte
// after the one that it cannot read.
func syntaxError(err error, length int64) *Error {
	offset := length
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = max(0, syntax.Offset-1)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the JSON object is cut off")
	}
	return &Error{Offset: offset, Err: err}
}

// readObject reads an envelope, or one of clew's own forms, which have fields that no
// envelope has.
func readObject(text []byte, start int64, format Format, o Options) []*Document {
	var f form
	err := typeError(json.Unmarshal(text, &f))
	if o.Format == Swift || format == Swift && !f.isClews() {
		return []*Document{readEnvelope(text, start, o)}
	}
	var all []*Document
	switch {
	case err != nil:
	case f.isAnswer():
		all, err = f.readAnswer(text)
	case f.isSnapshot():
		all, err = readSnapshot(text)
	default:
		var d *Document
		d, err = f.document()
		all = []*Document{d}
	}
	if err != nil {
		return []*Document{{Format: JSON, Err: &Error{Offset: start, Err: err}}}
	}
	for _, d := range all {
		d.Format = JSON
		if o.Images != nil && d.Images == nil {
			d.addImages(o.Images, "")
		}
	}
	return all
}

// isClews says whether an object has fields that no envelope has.
func (f *form) isClews() bool {
	return f.WordSize != nil && f.Frames != nil || f.isAnswer() || f.isSnapshot()
}

func (f *form) isAnswer() bool   { return f.Stacks != nil }
func (f *form) isSnapshot() bool { return f.Threads != nil && f.Memory != nil }

func readEnvelope(text []byte, start int64, o Options) *Document {
	d := &Document{Format: Swift}
	e, err := envelope.Unmarshal(text)
	if err != nil {
		d.Err = &Error{Offset: start, Err: err}
		return d
	}
	d.Architecture = e.Architecture
	d.setBacktrace(e.Backtrace, "backtrace", o.backtraces())
	if e.ImageMap != nil {
		d.setImages(e.ImageMap, "imageMap", o.maps())
	}
	return d
}
