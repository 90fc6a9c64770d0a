package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/imagemap"
)

// ErrMissing: a field that must be there is not.
var ErrMissing = errors.New("missing")

// fieldError is a problem with the value of a field, whose path it says.
type fieldError struct {
	path string
	err  error
}

func (e *fieldError) Error() string { return e.path + ": " + e.err.Error() }
func (e *fieldError) Unwrap() error { return e.err }

func missing(field string) error { return &fieldError{field, ErrMissing} }

// form is a document of which the lists are not looked into yet.
type form struct {
	Architecture string          `json:"architecture"`
	WordSize     *uint8          `json:"wordSize"`
	Frames       json.RawMessage `json:"frames"`
	Complete     *bool           `json:"complete"`
	Error        *problem        `json:"error"`
	Platform     string          `json:"platform"`
	Images       json.RawMessage `json:"images"`

	// Of stacks, and of snapshots.
	Stacks  json.RawMessage `json:"stacks"`
	Threads json.RawMessage `json:"threads"`
	Memory  json.RawMessage `json:"memory"`
}

// Parse yields the documents in a sequence of JSON objects, as [Document.WriteJSON]
// writes them. An error ends the sequence. Fields that are not known are ignored.
func Parse(data []byte) iter.Seq2[*Document, error] {
	return func(yield func(*Document, error) bool) {
		dec := json.NewDecoder(bytes.NewReader(data))
		for n := 1; ; n++ {
			var f form
			err := dec.Decode(&f)
			if errors.Is(err, io.EOF) {
				return
			}
			var d *Document
			switch {
			case errors.As(err, new(*json.UnmarshalTypeError)):
				err = fmt.Errorf("document %d: %w", n, typeError(err))
			case err != nil:
				err = syntaxError(err, int64(len(data)))
			default:
				if d, err = f.document(); err != nil {
					err = fmt.Errorf("document %d: %w", n, err)
				}
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

// check finds fields that are missing or invalid, apart from frames and images.
func (f *form) check() error {
	switch {
	case f.WordSize == nil:
		return missing("wordSize")
	case f.Frames == nil:
		return missing("frames")
	case f.Complete == nil:
		return missing("complete")
	case !cbf.WordSize(*f.WordSize).Valid():
		return &fieldError{"wordSize", fmt.Errorf("%d, expected 16, 32 or 64", *f.WordSize)}
	}
	return nil
}

func (f *form) document() (*Document, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	d := &Document{Architecture: f.Architecture, WordSize: cbf.WordSize(*f.WordSize), Complete: *f.Complete}
	if f.Error != nil {
		d.Err = &Error{Offset: f.Error.Offset, Err: errors.New(f.Error.Message)}
	}
	if err := f.readFrames(d); err != nil {
		return nil, err
	}
	if err := f.readImages(d); err != nil {
		return nil, err
	}
	return d, nil
}

func (f *form) readFrames(d *Document) error {
	var inlined []Call // in the frame that comes next
	err := eachElement("frames", f.Frames, func(form *frameForm) error {
		if n := len(d.Frames); n > 0 && d.Frames[n-1].Kind == cbf.Truncated {
			return errors.New("nothing can follow a truncated frame")
		}
		frame, err := form.frame()
		if err != nil {
			return err
		}
		if form.Inlined {
			inlined = append(inlined, form.call())
			return nil
		}
		d.Frames = append(d.Frames, frame)
		if form.Function != "" || form.File != "" || len(inlined) > 0 {
			for len(d.Calls) < len(d.Frames) {
				d.Calls = append(d.Calls, nil)
			}
			d.Calls[len(d.Frames)-1] = append(inlined, form.call())
		}
		inlined = nil
		return nil
	})
	if err != nil {
		return err
	}
	if len(inlined) > 0 {
		return &fieldError{"frames", errors.New("the last one is inlined, but in no frame")}
	}
	if n := len(d.Frames); n > 0 && d.Frames[n-1].Kind == cbf.Truncated && d.Complete {
		return &fieldError{"complete", errors.New("true, but the last frame is truncated")}
	}
	return nil
}

func (f *form) readImages(d *Document) error {
	if f.Images == nil || string(f.Images) == "null" {
		return nil
	}
	var images []imagemap.Image
	err := eachElement("images", f.Images, func(form *imageForm) error {
		img, err := form.image()
		images = append(images, img)
		return err
	})
	if err != nil {
		return err
	}
	d.Images, err = imagemap.New(imagemap.WordSize(d.WordSize), f.Platform, images)
	return err
}

func (f *callForm) call() Call { return Call{f.Function, string(f.File), f.Line, f.Column, f.TailCall} }

func (f *frameForm) frame() (cbf.Frame, error) {
	for kind := cbf.PC; kind <= cbf.Truncated; kind++ {
		switch {
		case kind.String() != f.Kind:
		case kind.HasAddress():
			if f.Address == nil {
				return cbf.Frame{}, missing("address")
			}
			return cbf.Frame{Kind: kind, Address: uint64(*f.Address)}, nil
		case kind == cbf.Omitted:
			if f.Count == nil {
				return cbf.Frame{}, missing("count")
			}
			return cbf.Frame{Kind: kind, Count: *f.Count}, nil
		default:
			return cbf.Frame{Kind: kind}, nil
		}
	}
	return cbf.Frame{}, &fieldError{"kind", fmt.Errorf("%q, expected pc, ra, async, omit or truncated", f.Kind)}
}

// eachElement reads the elements of a list one at a time: "{}," takes three bytes
// in a file and many times that in memory.
func eachElement[T any](name string, list json.RawMessage, add func(*T) error) error {
	dec := json.NewDecoder(bytes.NewReader(list))
	if open, err := dec.Token(); err != nil || open != json.Delim('[') {
		return &fieldError{name, errors.New("not a list")}
	}
	for i := 0; dec.More(); i++ {
		element := new(T)
		err := typeError(dec.Decode(element))
		if err == nil {
			err = add(element)
		}
		if err != nil {
			return &fieldError{fmt.Sprintf("%s[%d]", name, i), err}
		}
	}
	return nil
}

// typeError says of an [*json.UnmarshalTypeError] which field it is about, without
// the names of types; it leaves other errors as they are.
func typeError(err error) error {
	var typ *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &typ):
		return err
	case typ.Field == "":
		return fmt.Errorf("a JSON %s is out of place here", typ.Value)
	}
	return &fieldError{typ.Field, fmt.Errorf("a JSON %s is out of place here", typ.Value)}
}
