package types

import (
	"debug/dwarf"
	"fmt"
	"strings"
)

// maxNested bounds the types that a name is made of.
const maxNested = 32

// maxInner bounds those of a function's parameters, and of a member's class: each may have as many again.
const maxInner = 4

// String is the type as the source would name it: "const char *", "int [4]", "std::vector<int>".
func (t *Type) String() string {
	t.nameOnce.Do(func() { t.name = t.write("", maxNested) })
	return t.name
}

var qualifiers = map[dwarf.Tag]string{
	dwarf.TagConstType: "const", dwarf.TagVolatileType: "volatile", dwarf.TagRestrictType: "restrict", tagAtomicType: "_Atomic",
}

// write writes the type around what it declares: "*" for a pointer to it.
func (t *Type) write(inner string, deeper int) string {
	if deeper == 0 {
		return "…"
	}
	target := func() *Type {
		if to, err := t.Target(); err == nil {
			return to
		}
		return VoidType
	}
	join := func(name string) string {
		if inner == "" {
			return name
		}
		if strings.HasPrefix(inner, "[") || strings.HasPrefix(inner, "(") {
			return name + " " + inner
		}
		return name + " " + inner
	}
	switch {
	case t.Kind == Pointer || t.Kind == Reference || t.Kind == MemberPointer:
		if t.Own != "" { // Rust's
			return join(t.Own)
		}
		sign := map[dwarf.Tag]string{dwarf.TagReferenceType: "&", dwarf.TagRvalueReferenceType: "&&"}[t.Tag]
		if sign == "" {
			sign = "*"
		}
		if t.Kind == MemberPointer {
			if class, err := t.Class(); err == nil {
				sign = class.write("", min(deeper-1, maxInner)) + "::*"
			}
		}
		to := target()
		if u := to; u.Kind == Array || u.Kind == Function {
			return to.write("("+sign+inner+")", deeper-1)
		}
		return to.write(sign+inner, deeper-1)
	case t.Kind == Array:
		dims := ""
		for _, d := range t.dims {
			if d.Count == Unknown {
				dims += "[]"
			} else {
				dims += fmt.Sprintf("[%d]", d.Count)
			}
		}
		return target().write(inner+dims, deeper-1)
	case t.Kind == Function:
		return target().write(inner+"("+t.parameters(min(deeper-1, maxInner))+")", deeper-1)
	case t.Kind == Alias && t.Tag != dwarf.TagTypedef && t.Tag != dwarf.TagTemplateAlias:
		word := qualifiers[t.Tag]
		to := target()
		if to.Kind == Pointer && to.Own == "" { // of the pointer, not of what it points to
			return to.write(strings.TrimSpace(" "+word+" "+inner), deeper-1)
		}
		return strings.TrimSpace(word + " " + to.write(inner, deeper-1))
	case t.Kind == Void && t.Own == "":
		return join("void")
	case t.Own == "":
		return join(map[Kind]string{Struct: "struct {…}", Union: "union {…}", Enum: "enum {…}"}[t.Kind])
	}
	name := t.Own
	if t.entry != nil {
		name = t.entry.Scope() + name
	}
	if isC[t.Language] {
		if word := map[Kind]string{Struct: "struct ", Union: "union ", Enum: "enum "}[t.Kind]; word != "" {
			name = word + name
		}
	}
	return join(name)
}

// isC has the languages in which a structure's name needs the word before it.
var isC = map[uint64]bool{0x01: true, 0x02: true, 0x0c: true, 0x1d: true, 0x2c: true, 0x10: true}

// parameters are the types of a function's.
func (t *Type) parameters(deeper int) string {
	const most = 16
	if t.entry == nil {
		return ""
	}
	children, more, err := t.entry.Children(most)
	if err != nil {
		return "…"
	}
	var out []string
	for _, c := range children {
		switch c.Tag() {
		case dwarf.TagFormalParameter:
			of, err := t.set.Of(c)
			if err != nil {
				of = VoidType
			}
			out = append(out, of.write("", deeper))
		case dwarf.TagUnspecifiedParameters:
			out = append(out, "...")
		}
	}
	if more {
		out = append(out, "…")
	}
	return strings.Join(out, ", ")
}

// Declare is a declaration of something that has the type: "int grid[2][3]".
func (t *Type) Declare(name string) string { return t.write(name, maxNested) }
