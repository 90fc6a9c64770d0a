package jsonread

import (
	"errors"
	"math"
	"unsafe"
)

// ErrMissing is wrapped by the error about a required field that is not there.
var ErrMissing = errors.New("required, and not there")

// ErrTwice is wrapped by the error about a field that is there twice.
var ErrTwice = errors.New("is there twice")

// Field is a field of an object, and where its value goes: a *string, *bool, *uint64,
// *int or **int (from 0 to 2^31-1), *[Address] or **[Address], or a func() error that
// reads it, or leaves it unread.
type Field struct {
	Name     string
	Required bool
	To       any
}

// Need is a field that must be there.
func Need(name string, to any) Field { return Field{name, true, to} }

// May is a field that may be there.
func May(name string, to any) Field { return Field{name, false, to} }

// Struct walks an object and reads those of its fields that are listed, at most 64. Other
// fields are skipped, null counts as absent, a listed field that is there twice is an
// error, and so is a required one that is not there.
func (r *Reader) Struct(fields ...Field) error {
	var seen uint64
	err := r.members(func(key []byte) error {
		i := 0
		for i < len(fields) && fields[i].Name != string(key) {
			i++
		}
		if i == len(fields) || r.peek() == 'n' {
			r.Skip()
			return nil
		}
		return r.within(step{name: fields[i].Name}, func() error {
			if seen&(1<<i) != 0 {
				return r.Wrap(ErrTwice)
			}
			seen |= 1 << i
			return r.into(fields[i].To)
		})
	})
	if err != nil {
		return err
	}
	for i := range fields {
		if fields[i].Required && seen&(1<<i) == 0 {
			return r.within(step{name: fields[i].Name}, func() error { return r.Wrap(ErrMissing) })
		}
	}
	return nil
}

func (r *Reader) into(to any) (err error) {
	switch to := to.(type) {
	case *string:
		*to, err = r.String()
	case *bool:
		*to, err = r.Bool()
	case *int:
		*to, err = r.smallInt()
	case **int:
		n, failed := r.smallInt()
		*to, err = &n, failed
	case *uint64:
		*to, err = r.Uint(math.MaxUint64)
	case *Address:
		*to, err = r.Address()
	case **Address:
		a, failed := r.Address()
		*to, err = &a, failed
	case func() error:
		err = to()
	}
	return err
}

func (r *Reader) smallInt() (int, error) {
	n, err := r.Uint(math.MaxInt32)
	return int(n), err
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

// List reads a field with [Slice].
func List[T any](r *Reader, to *[]T, read func(i int) (T, error)) func() error {
	return func() (err error) {
		*to, err = Slice(r, read)
		return err
	}
}

// Objects reads a field that is a list of objects. Where the fields of one go is asked
// once for the list.
func Objects[T any](r *Reader, to *[]T, fields func(*T) []Field) func() error {
	return func() (err error) {
		var one, none T
		list := fields(&one)
		*to, err = Slice(r, func(int) (T, error) {
			one = none
			err := r.Struct(list...)
			return one, err
		})
		return err
	}
}

// Parse reads a field that is a string by a parser, whose error gets its place.
func Parse[T any](r *Reader, to *T, parse func(string) (T, error)) func() error {
	return func() error {
		s, err := r.String()
		if err == nil {
			*to, err = parse(s)
		}
		return r.Wrap(err)
	}
}
