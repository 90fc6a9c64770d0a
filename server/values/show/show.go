package show

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// Kind is how a container holds its elements.
type Kind string

// The kinds of containers.
const (
	Text     Kind = "text"     // characters: pointer and count
	Slice    Kind = "slice"    // elements: pointer and count
	Range    Kind = "range"    // elements from a pointer up to another
	List     Kind = "list"     // nodes, each with a pointer to the next
	Tree     Kind = "tree"     // nodes as libstdc++ has them
	Optional Kind = "optional" // a value, or none
	Pointer  Kind = "pointer"  // what a pointer among its members points to
	Same     Kind = "same"     // one of its members
)

// Formatter says how values of some types are shown. Members are named by their path from the value: "a.b.c".
type Formatter struct {
	// Type is a regular expression for the type's name, without qualifiers; Not is one that it must not match.
	Type string `json:"type"`
	Not  string `json:"not,omitempty"`
	Kind Kind   `json:"kind"`

	Pointer string `json:"pointer,omitempty"`
	Count   string `json:"count,omitempty"`
	First   string `json:"first,omitempty"`
	End     string `json:"end,omitempty"`
	Head    string `json:"head,omitempty"`
	Next    string `json:"next,omitempty"`
	Has     string `json:"has,omitempty"`
	Value   string `json:"value,omitempty"`
	// Of is the member whose type has the parameter with the elements' type, and Element the parameter's index: of the type
	// itself where Of is "".
	Of      string `json:"of,omitempty"`
	Element *int   `json:"element,omitempty"`
	// Ring says that the last node's pointer leads back to the head.
	Ring bool `json:"ring,omitempty"`

	match, not *regexp.Regexp
}

// members that each kind must name.
var members = map[Kind]func(*Formatter) []string{
	Text:     func(f *Formatter) []string { return []string{f.Pointer, f.Count} },
	Slice:    func(f *Formatter) []string { return []string{f.Pointer, f.Count} },
	Range:    func(f *Formatter) []string { return []string{f.First, f.End} },
	List:     func(f *Formatter) []string { return []string{f.Head, f.Next} },
	Tree:     func(f *Formatter) []string { return []string{f.Head, f.Count} },
	Optional: func(f *Formatter) []string { return []string{f.Has, f.Value} },
	Pointer:  func(f *Formatter) []string { return []string{f.Value} },
	Same:     func(f *Formatter) []string { return []string{f.Value} },
}

// Members are the members that a value must have.
func (f *Formatter) Members() []string { return members[f.Kind](f) }

// Matches says whether the formatter is for a type of that name.
func (f *Formatter) Matches(name string) bool {
	return f.match.MatchString(name) && (f.not == nil || !f.not.MatchString(name))
}

// maxFormatters bounds those of one file.
const maxFormatters = 1 << 10

// Parse reads formatters.
func Parse(data []byte) ([]Formatter, error) {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	var out []Formatter
	if err := d.Decode(&out); err != nil {
		return nil, fmt.Errorf("formatters: %w", err)
	}
	if len(out) > maxFormatters {
		return nil, fmt.Errorf("formatters: more than %d", maxFormatters)
	}
	for i := range out {
		if err := out[i].check(); err != nil {
			return nil, fmt.Errorf("formatter %d, for %q: %w", i+1, out[i].Type, err)
		}
	}
	return out, nil
}

func (f *Formatter) check() (err error) {
	named, ok := members[f.Kind]
	if !ok {
		return fmt.Errorf("the kind %q is not known", f.Kind)
	}
	for _, m := range named(f) {
		if m == "" {
			return fmt.Errorf("a member that the kind %s needs is missing", f.Kind)
		}
	}
	if f.match, err = regexp.Compile(f.Type); err == nil && f.Not != "" {
		f.not, err = regexp.Compile(f.Not)
	}
	return err
}

//go:embed containers.json
var containers []byte

// Builtin are the formatters that come with clew.
var Builtin = sync.OnceValue(func() []Formatter {
	out, err := Parse(containers)
	if err != nil {
		panic(err) // it is part of the program: a test reads it
	}
	return out
})
