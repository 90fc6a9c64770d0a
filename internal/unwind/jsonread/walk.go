package jsonread

import (
	"errors"
	"unsafe"
)

// ErrMissing is wrapped by the error about a required field that is not there.
var ErrMissing = errors.New("required, and not there")

// ErrTwice is wrapped by the error about a field that is there twice.
var ErrTwice = errors.New("is there twice")

// Fields lists the fields of an object that a walker reads: at most 64.
type Fields struct {
	Required []string
	Optional []string
}

// index assigns a number to each field.
func (f *Fields) index(name []byte) int {
	for i, n := range f.Required {
		if n == string(name) {
			return i
		}
	}
	for i, n := range f.Optional {
		if n == string(name) {
			return len(f.Required) + i
		}
	}
	return -1
}

// Has reports whether a field is listed.
func (f *Fields) Has(name string) bool { return f.index([]byte(name)) >= 0 }

func (f *Fields) name(i int) string {
	if i < len(f.Required) {
		return f.Required[i]
	}
	return f.Optional[i-len(f.Required)]
}

// Struct walks an object and calls read before each value of a field that is
// listed; read may leave the value unread. Other fields are skipped, null
// counts as absent, a listed field that is there twice is an error, and so is a
// required one that is not there.
func (r *Reader) Struct(fields *Fields, read func(name string) error) error {
	var seen uint64
	err := r.members(func(key []byte) error {
		i := fields.index(key)
		if i < 0 || r.peek() == 'n' {
			r.Skip()
			return nil
		}
		name := fields.name(i)
		return r.within(step{name: name}, func() error {
			if seen&(1<<i) != 0 {
				return r.Wrap(ErrTwice)
			}
			seen |= 1 << i
			return read(name)
		})
	})
	if err != nil {
		return err
	}
	for i, name := range fields.Required {
		if seen&(1<<i) == 0 {
			return r.within(step{name: name}, func() error { return r.Wrap(ErrMissing) })
		}
	}
	return nil
}

// Map walks an object and calls read before each value.
func (r *Reader) Map(read func(key string) error) error {
	return r.members(func(key []byte) error {
		name := string(key)
		return r.within(step{name: name}, func() error { return read(name) })
	})
}

// Array walks an array and calls read before each element.
func (r *Reader) Array(read func(i int) error) error {
	if err := r.expect('[', "an array"); err != nil {
		return err
	}
	r.pos++
	for i := 0; r.more(']'); i++ {
		if err := r.within(step{index: i, isIndex: true}, func() error { return read(i) }); err != nil {
			return err
		}
	}
	return nil
}

// members calls read before each value of an object.
func (r *Reader) members(read func(key []byte) error) error {
	if err := r.expect('{', "an object"); err != nil {
		return err
	}
	r.pos++
	for r.more('}') {
		key, err := r.Text()
		if err != nil {
			return err
		}
		r.space()
		r.pos++ // the colon
		if err := read(key); err != nil {
			return err
		}
	}
	return nil
}

// within runs read with one step more in the path, and skips the value if read
// left it unread.
func (r *Reader) within(s step, read func() error) error {
	r.path = append(r.path, s)
	r.space()
	before := r.pos
	if err := read(); err != nil {
		return err
	}
	if r.pos == before {
		r.Skip()
	}
	r.path = r.path[:len(r.path)-1]
	return nil
}

// more reports whether another member follows, and skips the comma before it or
// over the closing bracket.
func (r *Reader) more(closing byte) bool {
	switch c := r.peek(); c {
	case closing, 0:
		r.pos++
		return false
	case ',':
		r.pos++
		r.space()
	}
	return true
}

// Slice reads an array with read for each element, and charges for each element
// before it is kept. For an empty array it returns an empty slice, not nil.
func Slice[T any](r *Reader, read func(i int) (T, error)) ([]T, error) {
	out := []T{}
	var zero T
	err := r.Array(func(i int) error {
		if err := r.Charge(int(unsafe.Sizeof(zero))); err != nil {
			return err
		}
		v, err := read(i)
		out = append(out, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Parse reads a value of a string by a parser, whose error gets its place.
func Parse[T any](r *Reader, parse func(string) (T, error)) (T, error) {
	s, err := r.String()
	if err != nil {
		var zero T
		return zero, err
	}
	v, err := parse(s)
	return v, r.Wrap(err)
}
