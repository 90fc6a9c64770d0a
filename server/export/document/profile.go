package document

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
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
	for _, s := range p.Sample {
		d := &Document{Format: Pprof, WordSize: cbf.Word64, Complete: len(s.Label["truncated"]) == 0}
		for i, l := range s.Location {
			f := cbf.Frame{Kind: cbf.PC, Address: l.Address}
			if i > 0 {
				f = cbf.Frame{Kind: cbf.RA, Address: l.Address + 1}
			}
			d.Frames = append(d.Frames, f)
			d.Calls = append(d.Calls, lineCalls(l))
		}
		if err := d.setMappings(s); err != nil {
			d.addError(&Error{Part: "mappings", Err: err})
		}
		if !yield(d) {
			return
		}
	}
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
func (d *Document) setMappings(s *profile.Sample) error {
	var images []imagemap.Image
	seen := make(map[*profile.Mapping]bool)
	for _, l := range s.Location {
		m := l.Mapping
		if m == nil || seen[m] {
			continue
		}
		seen[m] = true
		img := imagemap.Image{Base: m.Start, EndOfText: m.Limit, Path: m.File}
		if m.Offset <= m.Start { // the file's first byte is there
			img.Base -= m.Offset
		}
		if id, err := hex.DecodeString(m.BuildID); err == nil {
			img.BuildID = id
		}
		images = append(images, img)
	}
	if len(images) == 0 {
		return nil
	}
	var err error
	d.Images, err = imagemap.New(imagemap.Word64, "", images)
	return err
}
