package values

import (
	"errors"
	"fmt"
	"strings"

	"github.com/clewdbg/clew/server/values/types"
)

// Definition is a type as its source defines it, as far as DWARF tells.
type Definition struct {
	Shape  Shape
	Real   string // its name without typedefs and qualifiers
	Size   int64  // in bytes, negative where DWARF does not say it
	Fields []Field
}

// Field is a member, or a base, or a constant of an enumeration, whose type is its value.
type Field struct{ Name, Type string }

// keywords that may stand before a type's name.
var keywords = []string{"struct ", "union ", "class ", "enum "}

// maxDefined bounds the members of a definition.
const maxDefined = 1 << 12

// Definition returns that of a type of the program's.
func (f *Frame) Definition(name string) (*Definition, error) {
	name = strings.TrimSpace(name)
	for _, k := range keywords {
		name = strings.TrimPrefix(name, k)
	}
	e := evaluator{frame: f, known: make(map[string]*types.Type)}
	t, err := e.find(name)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, fmt.Errorf("there is no type %s", name)
	}
	u, err := t.Under()
	if err != nil {
		return nil, err
	}
	d := &Definition{Real: u.String(), Size: -1, Shape: (&Value{typ: t, frame: f, raw: true}).Shape()}
	if n, err := u.Bytes(); err == nil {
		d.Size = n
	}
	return d, d.members(u)
}

// members adds those of a type.
func (d *Definition) members(u *types.Type) error {
	add := func(all []types.Member) {
		for i := range all[:min(len(all), maxDefined)] {
			m := &all[i]
			if m.Type == nil {
				continue // damaged
			}
			of := m.Type.String()
			if m.Bits > 0 {
				of += fmt.Sprintf(" : %d", m.Bits)
			}
			name := m.Name
			if m.Base {
				name = of
			}
			d.Fields = append(d.Fields, Field{name, of})
		}
	}
	switch {
	case u.Incomplete:
		return errors.New(u.String() + " is declared here, and defined nowhere that is known")
	case u.Kind == types.Enum:
		list, err := u.Enumerators()
		for _, e := range list {
			d.Fields = append(d.Fields, Field{e.Name, fmt.Sprintf("%d", int64(e.Value))})
		}
		return err
	case u.Kind == types.Struct || u.Kind == types.Union:
		all, _, err := u.Members()
		if err != nil {
			return err
		}
		add(all)
		parts, err := u.Variants()
		for i := range parts {
			for k := range parts[i].Variants {
				add(parts[i].Variants[k].Members)
			}
		}
		return err
	}
	return nil
}
