package document

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/google/pprof/profile"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/imagemap"
)

// gzipMagic begins a compressed profile. No information byte is its first one.
const gzipMagic = "\x1f\x8b"

// maxProfile bounds a profile, decompressed, in bytes.
const maxProfile = 256 << 20

// readProfile yields a document for each sample of a profile for pprof. A location is
// where a call is, and becomes the return address one byte behind it; the innermost
// one is an instruction.
func readProfile(data []byte, yield func(*Document) bool) {
	p, err := parseProfile(data)
	if err != nil {
		yield(&Document{Format: Pprof, Err: &Error{Err: err}})
		return
	}
	known := profiled{calls: make(map[*profile.Location][]Call), images: make(map[*profile.Mapping]imagemap.Image)}
	for _, s := range p.Sample {
		if !yield(known.document(s)) {
			return
		}
	}
}

// profiled is what samples share, made once: a sample refers to a location by a byte or two.
type profiled struct {
	calls  map[*profile.Location][]Call
	images map[*profile.Mapping]imagemap.Image
}

// errNoLocation: a sample names a location that the profile does not have.
var errNoLocation = errors.New("the profile lacks a location of this sample")

// document is a sample's backtrace.
func (p *profiled) document(s *profile.Sample) *Document {
	d := &Document{Format: Pprof, WordSize: cbf.Word64, Complete: len(s.Label["truncated"]) == 0}
	d.Frames, d.Calls = make([]cbf.Frame, 0, len(s.Location)), make([][]Call, 0, len(s.Location))
	for i, l := range s.Location {
		if l == nil {
			d.Complete = false
			d.addError(&Error{Part: "locations", Err: errNoLocation})
			break
		}
		f := cbf.Frame{Kind: cbf.PC, Address: l.Address}
		if i > 0 {
			f = cbf.Frame{Kind: cbf.RA, Address: l.Address + 1}
		}
		d.Frames = append(d.Frames, f)
		d.Calls = append(d.Calls, p.callsOf(l))
	}
	if err := p.setMappings(d, s); err != nil {
		d.addError(&Error{Part: "mappings", Err: err})
	}
	return d
}

func (p *profiled) callsOf(l *profile.Location) []Call {
	calls, ok := p.calls[l]
	if !ok {
		calls = lineCalls(l)
		p.calls[l] = calls
	}
	return calls
}

func parseProfile(data []byte) (*profile.Profile, error) {
	zipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(zipped, maxProfile+1))
	if err != nil {
		return nil, err
	}
	if len(plain) > maxProfile {
		return nil, fmt.Errorf("more than %d MiB", maxProfile>>20)
	}
	if _, err := profileSize(plain, maxParsed); err != nil {
		return nil, err
	}
	return profile.ParseUncompressed(plain)
}

// lineCalls are the functions that the profile itself has for a location.
func lineCalls(l *profile.Location) (out []Call) {
	for _, line := range l.Line {
		if line.Function != nil {
			out = append(out, Call{Function: line.Function.Name, File: line.Function.Filename, Line: int(line.Line), Column: int(line.Column)})
		}
	}
	return out
}

// setMappings makes the image map of what a sample's locations lie in.
func (p *profiled) setMappings(d *Document, s *profile.Sample) error {
	var images []imagemap.Image
	seen := make(map[*profile.Mapping]bool)
	for _, l := range s.Location[:len(d.Frames)] {
		if m := l.Mapping; m != nil && !seen[m] {
			seen[m] = true
			images = append(images, p.image(m))
		}
	}
	if len(images) == 0 {
		return nil
	}
	var err error
	d.Images, err = imagemap.New(imagemap.Word64, "", images)
	return err
}

func (p *profiled) image(m *profile.Mapping) imagemap.Image {
	img, ok := p.images[m]
	if ok {
		return img
	}
	img = imagemap.Image{Base: m.Start, EndOfText: m.Limit, Path: m.File}
	if m.Offset <= m.Start { // the file's first byte is there
		img.Base -= m.Offset
	}
	if id, err := hex.DecodeString(m.BuildID); err == nil {
		img.BuildID = id
	}
	p.images[m] = img
	return img
}
