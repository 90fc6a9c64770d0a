package show

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
)

// Kind is how a container holds its elements.
type Kind string

// The kinds of containers.
const (
	Text     Kind = "text"     // characters: pointer and count
	Slice    Kind = "slice"    // elements: pointer and count
	Range    Kind = "range"    // elements from a pointer up to another
	Each     Kind = "each"     // count elements, each by its index
	List     Kind = "list"     // nodes, each with a pointer to the next
	Tree     Kind = "tree"     // nodes with pointers to their left and right
	BTree    Kind = "btree"    // nodes with several elements, and children between them
	Tuple    Kind = "tuple"    // members of that name, of its bases and theirs
	Optional Kind = "optional" // a value, or none
	Pointer  Kind = "pointer"  // what a pointer among its members points to
	Same     Kind = "same"     // one of its members
)

// Formatter says how values of some types are shown. Its fields are expressions (package expr), in which names are members of the value,
// this is the value, T the elements' type, T0, T1 and so on the type's template parameters, and $i an index.
type Formatter struct {
	// Type is a regular expression for the type's name, without qualifiers; Not is one that it must not match.
	Type string `json:"type"`
	Not  string `json:"not,omitempty"`
	Kind Kind   `json:"kind"`
	// Valid does not hold for a value that is not initialized.
	Valid string `json:"valid,omitempty"`

	Pointer string `json:"pointer,omitempty"`
	Count   string `json:"count,omitempty"`
	First   string `json:"first,omitempty"`
	End     string `json:"end,omitempty"` // also of a list that ends with another address than 0

	// Slots is how many indexes [Each] has, and If says which hold an element: all where it is "".
	Slots string `json:"slots,omitempty"`
	If    string `json:"if,omitempty"`
	// Item is an element: of lists and trees in a node, whose members names are; "" where elements lie behind the node's members. Key is
	// what an element is named by.
	Item string `json:"item,omitempty"`
	Key  string `json:"key,omitempty"`

	// Head and Root point to the first node; of a tuple, Head is the member that has the bases. Names in Next, Left, Right, Entries and Child are a node's members.
	Head  string `json:"head,omitempty"`
	Next  string `json:"next,omitempty"`
	Root  string `json:"root,omitempty"`
	Left  string `json:"left,omitempty"`
	Right string `json:"right,omitempty"`
	// Height is how many levels of nodes are below the root, Entries how many elements a node has, and Child points to
	// the child before element $i.
	Height  string `json:"height,omitempty"`
	Entries string `json:"entries,omitempty"`
	Child   string `json:"child,omitempty"`

	Has   string `json:"has,omitempty"`
	Value string `json:"value,omitempty"`
	// Index is which template parameter the value's type is: none where there is no such. Symbol is a pointer to what has the type in its
	// name, as Named finds it.
	Index  string `json:"index,omitempty"`
	Symbol string `json:"symbol,omitempty"`
	Named  string `json:"named,omitempty"`
	// Unit is written behind the value.
	Unit string `json:"unit,omitempty"`

	// Of is the value whose type has the parameter with the elements' type, and Element the parameter's index: of the type
	// itself where Of is "".
	Of      string `json:"of,omitempty"`
	Element *int   `json:"element,omitempty"`

	match, not, named *regexp.Regexp
}

// needs are the fields that each kind must have.
var needs = map[Kind]func(*Formatter) []string{
	Text:     func(f *Formatter) []string { return []string{f.Pointer, f.Count} },
	Slice:    func(f *Formatter) []string { return []string{f.Pointer, f.Count} },
	Range:    func(f *Formatter) []string { return []string{f.First, f.End} },
	Each:     func(f *Formatter) []string { return []string{f.Count, f.Item} },
	List:     func(f *Formatter) []string { return []string{f.Head, f.Next} },
	Tree:     func(f *Formatter) []string { return []string{f.Root, f.Left, f.Right, f.Count} },
	BTree:    func(f *Formatter) []string { return []string{f.Root, f.Height, f.Entries, f.Child, f.Item, f.Count} },
	Tuple:    func(f *Formatter) []string { return []string{f.Value} },
	Optional: func(f *Formatter) []string { return []string{f.Value, f.Has + f.Index} },
	Pointer:  func(f *Formatter) []string { return []string{f.Value} },
	Same:     func(f *Formatter) []string { return []string{f.Value} },
}

// Matches says whether the formatter is for a type of that name.
func (f *Formatter) Matches(name string) bool {
	return f.match.MatchString(name) && (f.not == nil || !f.not.MatchString(name))
}

// OfPointer says whether the formatter is for pointers: its pattern ends with a star.
func (f *Formatter) OfPointer() bool {
	return strings.HasSuffix(f.Type, `\*$`) || strings.HasSuffix(f.Type, `\*`)
}

// TypeIn is the type that a symbol names, "" if it names none.
func (f *Formatter) TypeIn(symbol string) string {
	if m := f.named.FindStringSubmatch(symbol); m != nil {
		return strings.TrimSpace(m[1])
	}
	return ""
}

// Bounds of one file.
const (
	maxFormatters = 1 << 10
	maxField      = 4 << 10 // bytes
)

// Parse reads formatters.
func Parse(data []byte) ([]Formatter, error) {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	var out []Formatter
	if err := d.Decode(&out); err != nil {
		return nil, fmt.Errorf("formatters: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("formatters: there is more behind their end")
	}
	if err := Check(out); err != nil {
		return nil, err
	}
	return out, nil
}

// Check says what is wrong with formatters, and makes them ready for use.
func Check(all []Formatter) error {
	if len(all) > maxFormatters {
		return fmt.Errorf("formatters: more than %d", maxFormatters)
	}
	for i := range all {
		if err := all[i].check(); err != nil {
			return fmt.Errorf("formatter %d, for %q: %w", i+1, all[i].Type, err)
		}
	}
	return nil
}

func (f *Formatter) check() (err error) {
	named, ok := needs[f.Kind]
	if !ok {
		return fmt.Errorf("the kind %q is not known", f.Kind)
	}
	for _, m := range named(f) {
		if m == "" {
			return fmt.Errorf("a field that the kind %s needs is missing", f.Kind)
		}
	}
	switch {
	case f.Type == "":
		return errors.New("its type is missing")
	case (f.Kind == List || f.Kind == Tree) && f.Item == "" && f.Element == nil:
		return errors.New("neither item nor element says what a node holds")
	case (f.Slots == "") != (f.If == ""), (f.Symbol == "") != (f.Named == ""):
		return errors.New("slots and if, as symbol and named, belong together")
	case max(len(f.Type), len(f.Not), len(f.Named)) > maxField:
		return fmt.Errorf("a pattern of more than %d bytes", maxField)
	}
	if f.match, err = regexp.Compile(f.Type); err == nil && f.Not != "" {
		f.not, err = regexp.Compile(f.Not)
	}
	if err == nil && f.Named != "" {
		if f.named, err = regexp.Compile(f.Named); err == nil && f.named.NumSubexp() != 1 {
			err = errors.New("named needs one pair of brackets around the type")
		}
	}
	return err
}

//go:embed containers.json
var containers []byte

var own atomic.Pointer[[]Formatter]

// Use sets the user's own formatters, which come before those that come with clew. They must have been checked.
func Use(all []Formatter) { own.Store(&all) }

// Own are the user's own formatters.
func Own() []Formatter {
	if all := own.Load(); all != nil {
		return *all
	}
	return nil
}

// Builtin are the formatters that come with clew.
var Builtin = sync.OnceValue(func() []Formatter {
	out, err := Parse(containers)
	if err != nil {
		panic(err) // it is part of the program: a test reads it
	}
	return out
})
