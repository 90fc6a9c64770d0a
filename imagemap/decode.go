package imagemap

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// DecodeOptions chooses the form of the data and its limits.
type DecodeOptions struct {
	// NoPlatform reads data without a platform field, which Swift wrote before
	// 6.2. The data does not tell, so this is never guessed.
	NoPlatform bool
	// MaxPathBytes is the most bytes of all paths together; 0 means 8 MiB plus
	// 64 times the length of the data, which paths that share their prefixes
	// in earnest do not reach.
	MaxPathBytes int
}

// Decode reads CIF data.
//
// When paths cannot be decoded the map is whole but for them, and the error is
// (or wraps) a [PathErrors]. When reading stops early the error is (or wraps) an
// [*Error], and the map holds the images before it, or is nil when not even the
// word size could be read. Data after the last image is an [*Error] too, with the
// whole map. Both kinds can occur together.
func Decode(data []byte, opts DecodeOptions) (*ImageMap, error) {
	d := decoder{data: data, pathBytes: opts.MaxPathBytes}
	if d.pathBytes <= 0 {
		d.pathBytes = 8<<20 + 64*len(data)
	}
	stop := d.decode(opts.NoPlatform)
	var errs []error
	if len(d.pathErrors) > 0 {
		errs = append(errs, d.pathErrors)
	}
	if stop != nil {
		errs = append(errs, stop)
	}
	err := errors.Join(errs...)
	if len(errs) == 1 {
		err = errs[0]
	}
	if !d.ws.Valid() {
		return nil, err
	}
	m, mapErr := newMap(d.ws, d.platform, d.images)
	if mapErr != nil {
		return nil, mapErr // cannot be: the decoder checks all that newMap does
	}
	return m, err
}

// decoder reads one image map. Its methods return nil or the *Error at which
// reading stops.
type decoder struct {
	data       []byte
	pos        int
	image      int // number of the image being read, -1 outside of them
	ws         WordSize
	platform   string
	images     []Image
	pathErrors PathErrors
	pathBytes  int // how many bytes of path are still allowed

	raw      []byte   // all raw path bytes so far, of all paths
	prefixes []prefix // code firstOwnPrefix and up
	path     []byte   // buffer for the path being read
}

// prefix is a piece of decoder.raw.
type prefix struct{ start, end int }

func (d *decoder) decode(noPlatform bool) error {
	d.image = -1
	info, err := d.bytes(1, "information byte")
	switch {
	case err != nil:
		return err
	case info[0]>>2 != 0:
		return d.fail(0, fmt.Errorf("%w %d", ErrVersion, info[0]>>2))
	case info[0]&3 == 3:
		return d.fail(0, fmt.Errorf("%w: code 3 is reserved", ErrWordSize))
	}
	d.ws = Word16 << (info[0] & 3)

	if !noPlatform {
		if err := d.readPlatform(); err != nil {
			return err
		}
	}
	count, err := d.number("image count", MaxImages, ErrImageCount)
	if err != nil {
		return err
	}
	// The shortest image has five bytes: a count that the data cannot hold must
	// not reserve memory.
	d.images = make([]Image, 0, min(count, (len(d.data)-d.pos)/5))
	base := uint64(0)
	for d.image = range count {
		img, err := d.readImage(base)
		if err != nil {
			return err
		}
		d.images = append(d.images, img)
		base = img.Base
	}
	d.image = -1
	if rest := len(d.data) - d.pos; rest > 0 {
		return d.fail(d.pos, fmt.Errorf("%w: %d bytes", ErrTrailing, rest))
	}
	return nil
}

func (d *decoder) readPlatform() error {
	start := d.pos
	length, err := d.bytes(1, "platform length")
	if err != nil {
		return err
	}
	platform, err := d.bytes(int(length[0]), "platform")
	if err != nil {
		return err
	}
	if !utf8.Valid(platform) {
		return d.fail(start, fmt.Errorf("%w: not UTF-8", ErrPlatform))
	}
	d.platform = string(platform)
	return nil
}

func (d *decoder) readImage(previous uint64) (Image, error) {
	start := d.pos
	header, err := d.bytes(1, "image header")
	if err != nil {
		return Image{}, err
	}
	h := header[0]
	if h&headerReserved != 0 {
		return Image{}, d.fail(start, fmt.Errorf("%w %#02x", ErrHeader, h))
	}
	base, err := d.word(int(h>>3&7)+1, "base")
	if err != nil {
		return Image{}, err
	}
	if h&headerRelative != 0 {
		base = (base + previous) & d.ws.Max()
	}
	endStart := d.pos
	length, err := d.word(int(h&7)+1, "end of text")
	if err != nil {
		return Image{}, err
	}
	img := Image{Base: base, EndOfText: (base + length) & d.ws.Max()}
	if img.EndOfText <= base {
		return Image{}, d.fail(endStart, fmt.Errorf("%w: %#x, base %#x", ErrEndOfText, img.EndOfText, base))
	}
	n, err := d.number("build ID length", MaxBuildID, ErrBuildID)
	if err != nil {
		return Image{}, err
	}
	id, err := d.bytes(n, "build ID")
	if err != nil {
		return Image{}, err
	}
	if n > 0 {
		img.BuildID = append([]byte(nil), id...)
	}
	path, pathErr, err := d.readPath()
	if err != nil {
		return Image{}, err
	}
	if pathErr != nil {
		pathErr.Base, pathErr.Image = base, d.image
		d.pathErrors = append(d.pathErrors, pathErr)
	}
	img.Path = path
	return img, nil
}

// bytes takes the next n bytes.
func (d *decoder) bytes(n int, what string) ([]byte, error) {
	if left := len(d.data) - d.pos; left < n {
		return nil, d.fail(d.pos, fmt.Errorf("%w: %s needs %d bytes, %d left", ErrUnexpectedEnd, what, n, left))
	}
	b := d.data[d.pos : d.pos+n]
	d.pos += n
	return b, nil
}

// word takes a value of n bytes, sign-extended to the word size; what exceeds
// the word is cut off.
func (d *decoder) word(n int, what string) (uint64, error) {
	b, err := d.bytes(n, what)
	if err != nil {
		return 0, err
	}
	v := uint64(int64(int8(b[0])))
	for _, c := range b[1:] {
		v = v<<8 | uint64(c)
	}
	return v & d.ws.Max(), nil
}

// number takes a 7-bit integer of at most limit. Leading zero groups are padding
// and cost nothing but their bytes.
func (d *decoder) number(what string, limit int, tooLarge error) (int, error) {
	start, v := d.pos, 0
	for {
		b, err := d.bytes(1, what)
		if err != nil {
			return 0, err
		}
		if v = v<<7 | int(b[0]&0x7f); v > limit {
			return 0, d.fail(start, fmt.Errorf("%w: at most %d", tooLarge, limit))
		}
		if b[0]&0x80 == 0 {
			return v, nil
		}
	}
}

func (d *decoder) fail(offset int, err error) error {
	return &Error{Offset: offset, Image: d.image, Err: err}
}
