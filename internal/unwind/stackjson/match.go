package stackjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/clewdbg/clew/internal/unwind/jsonread"
)

// Expectation is an answer whose fields are optional: the fields that are
// present must match, the others may have any value. It records which fields are
// present, which an [Answer] cannot ("index": 0 differs from no index). The zero
// value expects nothing.
type Expectation struct{ doc []byte }

// ParseExpectation reads an expectation. Every field that is present must have
// a valid value; none is required.
func ParseExpectation(data []byte) (Expectation, error) {
	r, err := jsonread.New(data)
	if err != nil {
		return Expectation{}, err
	}
	return ReadExpectation(r)
}

// ReadExpectation reads the current value as an expectation.
func ReadExpectation(r *jsonread.Reader) (Expectation, error) {
	start := r.Mark()
	if _, err := readAnswer(r, formExpected); err != nil {
		return Expectation{}, err
	}
	r.Seek(start)
	return Expectation{doc: bytes.Clone(r.Raw())}, nil
}

// Expect is the expectation of exactly an answer's fields.
func Expect(a Answer) (Expectation, error) {
	doc, err := Marshal(a)
	return Expectation{doc: doc}, err
}

// MarshalJSON returns the expectation as it was read, without white space.
func (e Expectation) MarshalJSON() ([]byte, error) {
	if e.doc == nil {
		return []byte("{}"), nil
	}
	return e.doc, nil
}

// Mismatch is a field that differs from its expectation.
type Mismatch struct {
	Path string // "stacks[0].frames[2].pc"
	// Want and Got are JSON; Got is empty where the field is absent.
	Want, Got string
}

// String returns it on one line.
func (m Mismatch) String() string {
	if m.Got == "" {
		return fmt.Sprintf("%s: expected %s, but it is absent", m.Path, m.Want)
	}
	return fmt.Sprintf("%s: expected %s, got %s", m.Path, m.Want, m.Got)
}

// Match compares an answer with its expectation and returns every difference,
// in the order of frames. Lists must have the same length; fields that the
// contract does not know are ignored; registers that are not expected may be
// anything.
func Match(expect Expectation, got Answer) ([]Mismatch, error) {
	doc, err := Marshal(got)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(doc, expect.doc) {
		return nil, nil // as a rule, and known without reading both
	}
	wantTree, err := tree(expect.doc)
	if err != nil {
		return nil, err
	}
	gotTree, err := tree(doc)
	if err != nil {
		return nil, err
	}
	var m matcher
	m.compare("", &answerShape, wantTree, gotTree)
	return m.found, nil
}

func tree(doc []byte) (v any, err error) {
	if len(doc) == 0 {
		return map[string]any{}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber() // ids have 64 bits
	err = dec.Decode(&v)
	return v, err
}

// shape lists the fields of an object that are compared, and the shape of a
// list's elements. An object without known fields is compared by all that are
// expected.
type shape struct {
	known  []jsonread.Field
	fields map[string]*shape
}

var (
	rejectedShape = shape{known: new(Rejected).fields(formExpected)}
	frameShape    = shape{known: new(Frame).fields(nil, formExpected), fields: map[string]*shape{"rejected": &rejectedShape}}
	stackShape    = shape{known: new(Stack).fields(nil, formExpected), fields: map[string]*shape{"frames": &frameShape}}
	answerShape   = shape{known: new(Answer).fields(nil, formExpected), fields: map[string]*shape{"stacks": &stackShape}}
	anyShape      shape
)

func (s *shape) knows(name string) bool {
	return s.known == nil || slices.ContainsFunc(s.known, func(f jsonread.Field) bool { return f.Name == name })
}

func (s *shape) field(name string) *shape {
	if f := s.fields[name]; f != nil {
		return f
	}
	return &anyShape
}

type matcher struct{ found []Mismatch }

func (m *matcher) differ(path string, want, got any) {
	w, _ := Marshal(want)
	mismatch := Mismatch{Path: path, Want: string(w)}
	if got != nil {
		g, _ := Marshal(got)
		mismatch.Got = string(g)
	}
	m.found = append(m.found, mismatch)
}

func (m *matcher) compare(path string, s *shape, want, got any) {
	switch want := want.(type) {
	case map[string]any:
		fields, ok := got.(map[string]any)
		if !ok {
			m.differ(path, want, got)
			return
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if want[name] == nil || !s.knows(name) {
				continue
			}
			m.compare(join(path, name), s.field(name), want[name], fields[name])
		}
	case []any:
		elems, ok := got.([]any)
		if !ok {
			// Empty lists are left out, except that of stacks: its absence is an error.
			if len(want) > 0 || s == &stackShape {
				m.differ(path, want, got)
			}
			return
		}
		if len(want) != len(elems) {
			m.differ(path+".length", len(want), len(elems))
		}
		for i := range min(len(want), len(elems)) {
			m.compare(fmt.Sprintf("%s[%d]", path, i), s, want[i], elems[i])
		}
	default:
		if want != got && !(want == false && got == nil) { // "inlined": false is written as nothing
			m.differ(path, want, got)
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
