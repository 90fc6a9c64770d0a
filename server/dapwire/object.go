package dapwire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Object is a JSON object whose fields are looked at one level deep. What is not
// replaced keeps its bytes, its order and its place.
type Object struct {
	raw    []byte
	fields []field
	added  []field // text, not offsets
}

// field is a field's name and where its value lies in the raw text, or with what
// it was replaced.
type field struct {
	name       string
	start, end int
	value      []byte // replacement, nil for none
}

var errNotObject = errors.New("not a JSON object")

// ParseObject finds the fields of an object. Only the outermost level is read:
// what lies deeper may still turn out to be malformed. Raw must not be changed
// afterwards.
func ParseObject(raw []byte) (*Object, error) {
	s := scanner{raw: raw}
	o := &Object{raw: raw}
	s.space()
	if !s.take('{') {
		return nil, errNotObject
	}
	for s.space(); !s.take('}'); s.space() {
		if len(o.fields) > 0 && !s.take(',') {
			return nil, s.malformed("no comma or brace after a field")
		}
		f, err := s.field()
		if err != nil {
			return nil, err
		}
		o.fields = append(o.fields, f)
	}
	return o, s.end()
}

// Get returns a field's value. Of two fields with the same name the last counts, as
// for encoding/json.
func (o *Object) Get(name string) (json.RawMessage, bool) {
	for i := len(o.added) - 1; i >= 0; i-- {
		if o.added[i].name == name {
			return o.added[i].value, true
		}
	}
	for i := len(o.fields) - 1; i >= 0; i-- {
		f := &o.fields[i]
		if f.name != name {
			continue
		}
		if f.value != nil {
			return f.value, true
		}
		return o.raw[f.start:f.end], true
	}
	return nil, false
}

// Int returns a field's value if it is an integer.
func (o *Object) Int(name string) (int64, bool) {
	raw, ok := o.Get(name)
	if !ok {
		return 0, false
	}
	var n *int64
	if json.Unmarshal(raw, &n) != nil || n == nil {
		return 0, false
	}
	return *n, true
}

// Text returns a field's value if it is a string, "" if not.
func (o *Object) Text(name string) string {
	raw, _ := o.Get(name)
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// Set sets a field to a value, valid JSON: in its place if it is there, else at the end.
func (o *Object) Set(name string, value []byte) {
	found := false
	for i := range o.fields {
		if o.fields[i].name == name {
			o.fields[i].value, found = value, true
		}
	}
	if found {
		return
	}
	for i := range o.added {
		if o.added[i].name == name {
			o.added[i].value = value
			return
		}
	}
	o.added = append(o.added, field{name: name, value: value})
}

// Bytes writes the object. Without changes that is what was parsed.
func (o *Object) Bytes() []byte {
	size := len(o.raw)
	for _, list := range [][]field{o.fields, o.added} {
		for _, f := range list {
			size += len(f.value) + len(f.name) + 8
		}
	}
	out := make([]byte, 0, size)
	at := 0
	for i := range o.fields {
		if f := &o.fields[i]; f.value != nil {
			out = append(append(out, o.raw[at:f.start]...), f.value...)
			at = f.end
		}
	}
	if len(o.added) == 0 {
		return append(out, o.raw[at:]...)
	}
	brace := bytes.LastIndexByte(o.raw, '}')
	out = append(out, o.raw[at:brace]...)
	for i, f := range o.added {
		if i > 0 || len(o.fields) > 0 {
			out = append(out, ',')
		}
		name, _ := json.Marshal(f.name) // a string always can
		out = append(append(append(out, name...), ':'), f.value...)
	}
	return append(out, o.raw[brace:]...)
}

// scanner goes over JSON text.
type scanner struct {
	raw []byte
	at  int
}

func (s *scanner) malformed(what string) error {
	return fmt.Errorf("malformed JSON at offset %d: %s", s.at, what)
}

func (s *scanner) space() {
	for s.at < len(s.raw) {
		switch s.raw[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

func (s *scanner) take(c byte) bool {
	if s.at < len(s.raw) && s.raw[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) end() error {
	s.space()
	if s.at < len(s.raw) {
		return s.malformed("something follows the object")
	}
	return nil
}

func (s *scanner) field() (f field, err error) {
	s.space()
	start := s.at
	if s.at >= len(s.raw) || s.raw[s.at] != '"' {
		return f, s.malformed("a field has no name")
	}
	if err := s.text(); err != nil {
		return f, err
	}
	if name := s.raw[start+1 : s.at-1]; plain(name) {
		f.name = string(name)
	} else if err := json.Unmarshal(s.raw[start:s.at], &f.name); err != nil {
		return f, s.malformed("a field's name is malformed")
	}
	s.space()
	if !s.take(':') {
		return f, s.malformed("no colon after a field's name")
	}
	s.space()
	f.start = s.at
	if err := s.value(); err != nil {
		return f, err
	}
	f.end = s.at
	return f, nil
}

// plain reports whether a string has no escapes.
func plain(text []byte) bool {
	return !slices.ContainsFunc(text, func(c byte) bool { return c == '\\' || c < ' ' || c > '~' })
}

// text goes over a string.
func (s *scanner) text() error {
	for i := s.at + 1; ; {
		n := bytes.IndexByte(s.raw[i:], '"')
		if n < 0 {
			return s.malformed("a string without end")
		}
		i += n + 1
		backslashes := 0
		for j := i - 2; j > s.at && s.raw[j] == '\\'; j-- {
			backslashes++
		}
		if backslashes%2 == 0 {
			s.at = i
			return nil
		}
	}
}

// value goes over any value.
func (s *scanner) value() error {
	if s.at >= len(s.raw) {
		return s.malformed("a field without value")
	}
	switch s.raw[s.at] {
	case '"':
		return s.text()
	case '{', '[':
		return s.nested()
	}
	start := s.at
	for s.at < len(s.raw) && bytes.IndexByte([]byte(",}] \t\r\n:\"{["), s.raw[s.at]) < 0 {
		s.at++
	}
	if !json.Valid(s.raw[start:s.at]) {
		return s.malformed("a field without value")
	}
	return nil
}

// nested goes over an object or array.
func (s *scanner) nested() error {
	var open []byte
	for s.at < len(s.raw) {
		c := s.raw[s.at]
		switch c {
		case '"':
			if err := s.text(); err != nil {
				return err
			}
			continue
		case '{', '[':
			open = append(open, c+2) // in ASCII the closing one
		case '}', ']':
			if open[len(open)-1] != c {
				return s.malformed("a bracket that was not opened")
			}
			open = open[:len(open)-1]
		}
		s.at++
		if len(open) == 0 {
			return nil
		}
	}
	return s.malformed("a value without end")
}
