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
	of     *types.Type
}

// Field is a member, or a base, or a constant of an enumeration, whose type is its value.
type Field struct {
	Name, Type string
	line       string // as the source declares it
}

// Text is the definition in several lines, as GDB's ptype has it.
func (d *Definition) Text() string {
	if d.Fields == nil {
		return d.of.String()
	}
	head := strings.TrimSuffix(d.of.String(), " {…}")
	if word := words[d.of.Kind]; !strings.HasPrefix(head, word) {
		head = word + " " + head
	}
	var b strings.Builder
	b.WriteString(head + " {\n")
	for i := range d.Fields {
		b.WriteString("    " + d.Fields[i].line + "\n")
	}
	return b.String() + "}"
}

var words = map[types.Kind]string{types.Struct: "struct", types.Union: "union", types.Enum: "enum"}

// DefinitionOf is that of a type, or of an expression's type: of what it points to, behind is the stars then.
func (f *Frame) DefinitionOf(text string) (d *Definition, behind string, err error) {
	if d, err := f.Definition(text); err == nil {
		return d, "", nil
	}
	v, err := f.Evaluate(text)
	switch {
	case err != nil:
		return nil, "", err
	case v.typ == types.VoidType && v.err != nil:
		return nil, "", v.err
	}
	t := v.typ
	for range maxHops {
		u, err := t.Under()
		if err != nil {
			return nil, "", err
		}
		if u.Kind != types.Pointer && u.Kind != types.Reference {
			break
		}
		behind += map[types.Kind]string{types.Pointer: " *", types.Reference: " &"}[u.Kind]
		if t, err = u.Target(); err != nil {
			return nil, "", err
		}
	}
	if d, err = f.define(t); err == nil && d.Fields == nil { // as it stands
		d.of, behind = v.typ, ""
	}
	return d, behind, err
}

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
	return f.define(t)
}

func (f *Frame) define(t *types.Type) (*Definition, error) {
	u, err := t.Under()
	if err != nil {
		return nil, err
	}
	d := &Definition{of: u, Real: u.String(), Size: -1, Shape: (&Value{typ: t, frame: f, raw: true}).Shape()}
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
			field := Field{m.Name, m.Type.String(), m.Type.Declare(m.Name)}
			switch {
			case m.Base:
				field.Name, field.line = field.Type, ": "+field.Type
			case m.Static != nil:
				field.line = "static " + field.line + ";"
			case m.Bits > 0:
				bits := fmt.Sprintf(" : %d", m.Bits)
				field.Type, field.line = field.Type+bits, field.line+bits+";"
			default:
				field.line += ";"
			}
			d.Fields = append(d.Fields, field)
		}
	}
	switch {
	case u.Incomplete:
		return errors.New(u.String() + " is declared here, and defined nowhere that is known")
	case u.Kind == types.Enum:
		list, err := u.Enumerators()
		for _, e := range list {
			value := fmt.Sprintf("%d", int64(e.Value))
			d.Fields = append(d.Fields, Field{e.Name, value, e.Name + " = " + value + ","})
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
