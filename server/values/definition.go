package values

import (
	"errors"
	"fmt"
	"strings"

	"github.com/clewdbg/clew/server/values/types"
)

// Definition is a type as its source defines it, as far as DWARF tells.
type Definition struct {
	Name   string // with typedefs and qualifiers
	Shape  Shape
	Real   string // without
	Size   int64  // in bytes, negative where DWARF does not say it
	Fields []Field
	Text   string // in several lines
}

// Field is a member, or a base, or a constant of an enumeration.
type Field struct{ Name, Type string }

// keywords that may stand before a type's name.
var keywords = []string{"struct ", "union ", "class ", "enum "}

// Definition returns that of a type, or of an expression's type. The error is one of the expression.
func (f *Frame) Definition(text string) (*Definition, error) {
	name := strings.TrimSpace(text)
	for _, k := range keywords {
		name = strings.TrimPrefix(name, k)
	}
	e := evaluator{frame: f, known: make(map[string]*types.Type)}
	if e.isType(name) {
		t, err := e.find(name)
		if err != nil {
			return nil, err
		}
		return define(t)
	}
	v, err := f.Evaluate(text)
	if err != nil {
		return nil, err
	}
	if v.typ == types.VoidType && v.err != nil {
		return nil, v.err
	}
	return define(v.typ)
}

// maxDefined bounds the members of a definition.
const maxDefined = 1 << 12

func define(t *types.Type) (*Definition, error) {
	d := &Definition{Name: t.String(), Size: -1, Shape: (&Value{typ: t, frame: &Frame{}, raw: true}).Shape()}
	behind, u := "", t
	for range maxHops { // what pointers lead to
		real, err := u.Under()
		if err != nil {
			return nil, err
		}
		if u == t {
			d.Real = real.String()
			if n, err := real.Bytes(); err == nil {
				d.Size = n
			}
		}
		if u = real; u.Kind != types.Pointer {
			break
		}
		behind += " *"
		if u, err = u.Target(); err != nil {
			return nil, err
		}
	}
	lines, err := d.members(u)
	if err != nil {
		return nil, err
	}
	if lines == nil {
		d.Text = d.Real
		return d, nil
	}
	head := u.String()
	if strings.HasSuffix(head, "{…}") { // without a name
		head = strings.TrimSuffix(head, " {…}")
	} else if word := words[u.Kind]; !strings.HasPrefix(head, word) {
		head = word + head
	}
	d.Text = head + " {\n    " + strings.Join(lines, "\n    ") + "\n}" + behind
	return d, nil
}

var words = map[types.Kind]string{types.Struct: "struct ", types.Union: "union ", types.Enum: "enum "}

// members adds those of a type, and returns a line for each; nil where it is of a kind that has none.
func (d *Definition) members(u *types.Type) (lines []string, err error) {
	add := func(name, of, line string) {
		if len(lines) < maxDefined {
			d.Fields, lines = append(d.Fields, Field{name, of}), append(lines, line)
		}
	}
	switch {
	case u.Incomplete:
		return nil, errors.New(u.String() + " is declared here, and defined nowhere that is known")
	case u.Kind == types.Enum:
		list, err := u.Enumerators()
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			text := fmt.Sprintf("%d", int64(e.Value))
			add(e.Name, text, e.Name+" = "+text+",")
		}
	case u.Kind == types.Struct || u.Kind == types.Union:
		all, more, err := u.Members()
		if err != nil {
			return nil, err
		}
		for i := range all {
			addMember(&all[i], add)
		}
		parts, err := u.Variants()
		if err != nil {
			return nil, err
		}
		for i := range parts {
			for k := range parts[i].Variants {
				for j := range parts[i].Variants[k].Members {
					addMember(&parts[i].Variants[k].Members[j], add)
				}
			}
		}
		if more || len(lines) == maxDefined {
			lines = append(lines, "…")
		}
		if lines == nil {
			lines = []string{"// nothing"}
		}
	}
	return lines, nil
}

func addMember(m *types.Member, add func(name, of, line string)) {
	if m.Type == nil {
		add(m.Name, "", m.Name+"; // "+m.Err().Error())
		return
	}
	of := m.Type.String()
	line := m.Type.Declare(m.Name)
	if m.Bits > 0 {
		line += fmt.Sprintf(" : %d", m.Bits)
	}
	switch {
	case m.Base:
		add(of, of, ": "+of)
		return
	case m.Static != nil:
		line = "static " + line
	}
	add(m.Name, of, line+";")
}
