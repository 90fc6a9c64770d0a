package document

import (
	"errors"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/imagemap/envelope"
)

// Reasons for which a document cannot be written in a format.
var (
	ErrNoImages       = errors.New("there is no image map")
	ErrNoBacktrace    = errors.New("there is no backtrace, only an image map")
	ErrNoArchitecture = errors.New(`there is no architecture, which Swift's envelope must have; add "architecture": "x86_64" (or arm64, i386, arm)`)
)

// Encode writes the document in the format; strict keeps a backtrace to the
// instructions of CBF's document. A Swift envelope is one line and its line end.
func (d *Document) Encode(to Format, strict bool) ([]byte, error) {
	switch to {
	case CBF:
		return d.cbf(strict)
	case ImageMap:
		if d.Images == nil {
			return nil, ErrNoImages
		}
		return d.Images.AppendCIF(nil, imagemap.EncodeOptions{}), nil
	case Swift:
		return d.swift(strict)
	}
	return nil, errors.New("documents cannot be written as " + to.String())
}

// cbf writes the backtrace, with its end marked: Swift's reader takes data that
// merely stops for truncated. A backtrace that is not complete, because it was truncated or
// could not be read to its end, ends in trunc.
func (d *Document) cbf(strict bool) ([]byte, error) {
	if d.imagesOnly() {
		return nil, ErrNoBacktrace
	}
	ending := cbf.EndTruncated
	if d.Complete {
		ending = cbf.EndMark
	}
	return cbf.AppendFrames(nil, d.WordSize, d.Frames, ending, cbf.EncodeOptions{Strict: strict})
}

// imagesOnly says that there is no backtrace. An image map's JSON has an empty list
// of frames; a backtrace with images comes out of an envelope, which has an
// architecture.
func (d *Document) imagesOnly() bool {
	return len(d.Frames) == 0 && d.Images != nil && d.Architecture == ""
}

func (d *Document) swift(strict bool) ([]byte, error) {
	if d.Architecture == "" {
		return nil, ErrNoArchitecture
	}
	e := envelope.Envelope{Architecture: d.Architecture}
	var err error
	if e.Backtrace, err = d.cbf(strict); err != nil {
		return nil, err
	}
	if d.Images != nil {
		// Swift 6.2 misreads some paths otherwise.
		e.ImageMap = d.Images.AppendCIF(nil, imagemap.EncodeOptions{Swift62: true})
	}
	line, err := envelope.Marshal(e)
	if err != nil {
		return nil, err
	}
	return append(line, '\n'), nil
}
