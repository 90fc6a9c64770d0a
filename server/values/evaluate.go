package values

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/clewdbg/clew/server/symbols/dwarfline"
	"github.com/clewdbg/clew/server/values/expr"
	"github.com/clewdbg/clew/server/values/show"
	"github.com/clewdbg/clew/server/values/types"
	"github.com/clewdbg/clew/unwind"
)

// Evaluate evaluates an expression in the frame. The error is one of the expression: what has no value because of
// the program is a value that says so.
func (f *Frame) Evaluate(text string) (*Value, error) {
	e := evaluator{frame: f}
	n, err := expr.Parse(text, e.isType)
	if err != nil {
		return nil, err
	}
	v, err := e.eval(n)
	if err != nil {
		return nil, err
	}
	if v.Name == "" || v.Path != v.Name {
		v.Name = text
	}
	if v.Path == "" {
		v.Path = text
	}
	return v, nil
}

// Names are those of the frame's variables, or of the members of an expression's value, or of what it points to.
func (f *Frame) Names(of string) (out []string, err error) {
	if of == "" {
		all, _, err := f.variables()
		for i := range all {
			out = append(out, nameOf(all[i].entry))
		}
		return out, err
	}
	v, err := f.Evaluate(of)
	if err != nil {
		return nil, err
	}
	v = plain(v)
	for range 4 {
		u, err := v.under()
		if err != nil || u.Kind != types.Pointer {
			break
		}
		v = plain(v.Follow())
	}
	v.raw = true
	level := v.Named()
	for searched := 0; len(level) > 0 && searched < maxFound; searched++ {
		m := level[0]
		level = level[1:]
		if m.base || m.Name == "" {
			level = append(level, m.Named()...)
			continue
		}
		out = append(out, m.Name)
	}
	return out, nil
}

type evaluator struct {
	frame *Frame
	known map[string]*types.Type // types with names of their own, as a formatter's
	exact bool                   // no scopes are left out of types' names
	// object is what names are members of, alone, nil where they are variables: a formatter's expressions have such, and numbers of
	// their own in vars.
	object *Value
	vars   map[string]*Value
}

func (e *evaluator) eval(n expr.Node) (*Value, error) {
	switch n := n.(type) {
	case expr.Name:
		return e.name(n)
	case expr.Register:
		return e.register(n.Name)
	case expr.Number:
		return e.number(n), nil
	case expr.Member:
		return e.member(n)
	case expr.Index:
		return e.index(n)
	case expr.Unary:
		return e.unary(n)
	case expr.Binary:
		return e.binary(n)
	case expr.Conditional:
		return e.conditional(n)
	case expr.Text:
		return e.frame.valueOf(append([]byte(n.Text), 0), types.ArrayOf(charType, int64(len(n.Text))+1)), nil
	case expr.Cast:
		return e.cast(n)
	case expr.Sizeof:
		return e.sizeof(n)
	case expr.Call:
		return e.call(n)
	}
	return nil, errors.New("this expression is not supported")
}

// name finds a variable: of the innermost block, of the object that this points to, of the file, of others.
func (e *evaluator) name(n expr.Name) (*Value, error) {
	switch {
	case e.object != nil && n.Name == "this":
		return e.object, nil
	case e.object != nil:
		return memberOf(e.object, n.Name)
	case n.File != "":
		return e.ofFile(n)
	}
	if v, err := e.frame.local(n.Name); v != nil || err != nil {
		return v, err
	}
	if this, err := e.frame.local("this"); err == nil && this != nil {
		object := this.Follow()
		if object.err == nil {
			if v := object.Find(n.Name); v != nil {
				v.Path = n.Name
				return v, nil
			}
		}
	}
	v, err := e.frame.Global(n.Name)
	if err != nil {
		return nil, err
	}
	if v != nil {
		return v, nil
	}
	return nil, &UnknownNameError{n.Name, e.frame.lack}
}

// UnknownNameError says that an expression names nothing that native code has.
type UnknownNameError struct {
	Name string
	Lack error // why the frame has no variables, nil where it has
}

// Error names it.
func (e *UnknownNameError) Error() string {
	if e.Lack != nil {
		return fmt.Sprintf("there is no variable %s that is known here: this frame has no variables: %v", e.Name, e.Lack)
	}
	return fmt.Sprintf("there is no variable %s here", e.Name)
}

// Unwrap returns why the frame has no variables.
func (e *UnknownNameError) Unwrap() error { return e.Lack }

// OfGo says whether an expression may be about a variable of a Go package, PACKAGE.NAME: native code has nothing of the package's name. Such
// a variable is Delve's, whatever the frame.
func OfGo(text string, err error) bool {
	unknown, ok := errors.AsType[*UnknownNameError](err)
	return ok && strings.HasPrefix(strings.TrimLeft(text, "*&( "), unknown.Name+".")
}

// local returns the variable or argument with that name that counts in the frame.
func (f *Frame) local(name string) (*Value, error) {
	if f.lack != nil {
		return nil, nil
	}
	all, _, err := f.variables()
	if err != nil {
		return nil, err
	}
	best := -1
	for i := range all {
		if nameOf(all[i].entry) == name && (best < 0 || all[i].depth >= all[best].depth && !all[i].missing) {
			best = i
		}
	}
	if best < 0 {
		return nil, nil
	}
	return f.variable(&all[best]), nil
}

// ofFile finds a variable of a file: 'file.c'::name.
func (e *evaluator) ofFile(n expr.Name) (*Value, error) {
	f := e.frame
	for d := range f.stack.Code.AllDescribed() {
		units, _ := d.Table.Units(maxUnits)
		for _, u := range units {
			if file := u.Text(dwarf.AttrName); file != n.File && filepath.Base(file) != n.File && !strings.HasSuffix(file, "/"+n.File) {
				continue
			}
			l := lookup{wanted: f.wants("::" + n.Name), budget: maxSearched, near: true, at: d, sorted: func(e *dwarfline.Entry) sort {
				if isDefined(e) {
					return ofVariable
				}
				return ofNothing
			}}
			l.parts = parts(n.Name)
			if err := l.in(u, maxNamespace); err != nil {
				return nil, err
			}
			if l.best.other != "" && l.best.isLoose() {
				return nil, &AmbiguousError{n.Name, l.best.full, l.best.other}
			}
			if l.best.entry != nil {
				return f.foundValue(n.Name, &l.best)
			}
		}
	}
	return nil, fmt.Errorf("there is no variable %s in a file %s", n.Name, n.File)
}

// register returns a register of the frame.
func (e *evaluator) register(name string) (*Value, error) {
	if v := e.vars[name]; v != nil {
		return v, nil
	}
	s := e.frame.stack
	reg, ok := s.Arch.ParseRegister(name)
	if !ok {
		role := map[string]int{"pc": int(s.Arch.PC()), "sp": int(s.Arch.SP()), "fp": int(s.Arch.FP())}
		n, known := role[name]
		if !known {
			return nil, fmt.Errorf("there is no register %s", name)
		}
		reg = unwind.Register(n)
	}
	data, err := e.frame.Register(uint64(reg))
	if err != nil {
		return e.frame.unknown("$"+name, err), nil
	}
	return e.frame.valueOf(data, wordType), nil
}

func (e *evaluator) number(n expr.Number) *Value {
	f := e.frame
	switch {
	case n.IsFloat && n.Type == "float":
		return f.ofFloat(n.Float, 4)
	case n.IsFloat:
		return f.ofFloat(n.Float, 8)
	case n.Type == "char" && (n.Integer < 0x80 || n.Unsigned):
		return f.valueOf(wordOf(n.Integer)[:1], charType)
	case n.Type == "char": // a character of Rust, or of C's wider types
		return f.valueOf(wordOf(n.Integer)[:4], types.Number("char32_t", 4, types.EncodingUTF))
	case n.Type == "bool":
		return f.valueOf(wordOf(n.Integer)[:1], types.Number("bool", 1, types.EncodingBoolean))
	case n.Type == "nullptr":
		return f.valueOf(wordOf(0), types.PointerTo(types.VoidType, 8))
	case n.Type != "" && builtin[n.Type] != nil:
		return f.valueOf(wordOf(n.Integer)[:builtin[n.Type].Size], builtin[n.Type])
	case n.Integer <= math.MaxInt32 && !n.Unsigned && !n.Long:
		return f.valueOf(wordOf(n.Integer)[:4], intType)
	case n.Integer <= math.MaxUint32 && (n.Unsigned || n.Hex) && !n.Long:
		return f.valueOf(wordOf(n.Integer)[:4], unsignedType)
	case n.Integer <= math.MaxInt64 && !n.Unsigned:
		return f.valueOf(wordOf(n.Integer), indexType)
	}
	return f.valueOf(wordOf(n.Integer), wordType)
}

// plain follows references.
func plain(v *Value) *Value {
	for range 4 {
		u, err := v.under()
		if err != nil || u.Kind != types.Reference {
			return v
		}
		v = v.Follow()
	}
	return v
}

func (e *evaluator) member(n expr.Member) (*Value, error) {
	of, err := e.eval(n.Of)
	if err != nil {
		return nil, err
	}
	return memberOf(of, n.Name)
}

func memberOf(of *Value, name string) (*Value, error) {
	of = plain(of)
	for range 4 { // Rust and people leave arrows out
		u, err := of.under()
		if err != nil {
			return of, nil
		}
		if u.Kind != types.Pointer {
			break
		}
		of = plain(of.Follow())
	}
	if of.err != nil {
		return of, nil
	}
	if i := strings.LastIndex(name, "::"); i > 0 { // as a base has it
		base, err := of.baseNamed(name[:i])
		if err != nil {
			return nil, err
		}
		of, name = base, name[i+2:]
	}
	v := of.Find(name)
	if v == nil && name >= "0" && name <= "9999" {
		v = of.Find("__" + name) // as Rust names the members of tuples
	}
	if v == nil {
		if to := of.pointee(); to != nil {
			return memberOf(to, name)
		}
		if whole := of.dynamic(); whole != of { // a member of the class that the object is of
			return memberOf(whole, name)
		}
		if err := of.anyVariant(); err != nil {
			return of.frame.unknown(name, err), nil
		}
		return nil, fmt.Errorf("%s has no member %s", of.Type(), name)
	}
	return v, nil
}

// anyVariant says why it is not known which variant a value has: the member that is asked for may be another's.
func (v *Value) anyVariant() error {
	u, err := v.under()
	if err != nil {
		return err
	}
	parts, err := u.Variants()
	for i := range parts {
		if _, failed := v.variant(&parts[i]); failed != nil && !errors.Is(failed, errNoVariant) {
			return failed
		}
	}
	return err
}

// baseNamed returns the base with a name, with or without the scopes that it stands in; the value itself where its class has that name.
func (v *Value) baseNamed(name string) (*Value, error) {
	level := []*Value{v}
	for searched := 0; len(level) > 0 && searched < maxFound; searched++ {
		in := level[0]
		level = level[1:]
		u, err := in.under()
		if err != nil {
			return in, nil
		}
		w := wanted{full: []string{name}, parts: parts(name)}
		if u.Own == w.parts[len(w.parts)-1] && w.rank(u.String()) >= 0 {
			return in, nil
		}
		for _, m := range in.fields(u) {
			if m.base {
				level = append(level, m)
			}
		}
	}
	return nil, fmt.Errorf("%s has no base %s", v.Type(), name)
}

// pointee is what a container that holds a pointer points to, or the one value that it stands for; nil for other values.
func (v *Value) pointee() *Value {
	switch c := v.container(); {
	case c == nil:
	case c.by.Kind == show.Pointer:
		return c.one.Follow()
	case c.by.Kind == show.Same:
		return c.one
	}
	return nil
}

func (e *evaluator) conditional(n expr.Conditional) (*Value, error) {
	v, err := e.eval(n.If)
	if err != nil {
		return nil, err
	}
	o, failed, err := operandOf(v)
	if failed != nil || err != nil {
		return failed, err
	}
	if o.isTrue() {
		return e.eval(n.A)
	}
	return e.eval(n.B)
}

// maxFound bounds the bases and members without a name that are searched for a member.
const maxFound = 1 << 10

// Find returns a member by its name: the value's own, else that of the nearest base or member without a name.
func (v *Value) Find(name string) *Value {
	level := []*Value{v}
	for searched := 0; len(level) > 0 && searched < maxFound; searched += len(level) {
		var next []*Value
		for _, in := range level {
			u, err := in.under()
			if err != nil || u.Kind != types.Struct && u.Kind != types.Union {
				continue
			}
			all := in.fields(u)
			for _, f := range all {
				switch {
				case f.Name != name:
				case f.static != nil:
					return f.frame.static(name, f.static)
				default:
					return f
				}
			}
			members, _, err := u.Members()
			for i := range members {
				if m := &members[i]; err == nil && (m.Base || m.Name == "") && i < len(all) && len(next) < maxFound {
					next = append(next, all[i])
				}
			}
		}
		level = next
	}
	return nil
}

func (e *evaluator) sizeof(n expr.Sizeof) (*Value, error) {
	var size int64
	var err error
	if n.Of == nil {
		t, failed := e.typeNamed(n.To)
		if failed != nil {
			return nil, failed
		}
		size, err = t.Bytes()
	} else {
		v, failed := e.eval(n.Of)
		if failed != nil {
			return nil, failed
		}
		size, err = plain(v).bytes()
	}
	if err != nil {
		return nil, err
	}
	return e.frame.valueOf(wordOf(uint64(size)), wordType), nil
}

// call answers what a container knows of itself; nothing is run.
func (e *evaluator) call(n expr.Call) (*Value, error) {
	if name, isName := n.Of.(expr.Name); !isName || name.Name != n.Name {
		of, err := e.eval(n.Of)
		if err == nil {
			of = plain(of)
			if u, err := of.under(); err == nil && u.Kind == types.Pointer {
				of = plain(of.Follow())
			}
			if of.err != nil {
				return of, nil
			}
			if v, err := of.method(n.Name); v != nil || err != nil {
				return v, err
			}
		}
	}
	return nil, fmt.Errorf("%s is not called: a call would run code of the program", n.Name)
}

// method is what a value says of itself, nil for other names.
func (v *Value) method(name string) (*Value, error) {
	if c := v.container(); c != nil {
		return c.method(name)
	}
	u, err := v.under()
	if err != nil {
		return v, nil
	}
	switch name {
	case "len", "size":
		if u.Kind == types.Array {
			n, err := v.length(u)
			if err != nil {
				return v.frame.unknown(name, err), nil
			}
			return v.frame.valueOf(wordOf(uint64(n)), wordType), nil
		}
	case "is_some", "is_none", "is_ok", "is_err": // Rust's enumerations
		variant := map[string]string{"is_some": "Some", "is_none": "None", "is_ok": "Ok", "is_err": "Err"}[name]
		parts, err := u.Variants()
		if err != nil || len(parts) != 1 || !rust[u.Language] {
			return nil, err
		}
		chosen, err := v.variant(&parts[0])
		if err != nil {
			return v.frame.unknown(name, err), nil
		}
		return v.frame.truth(len(chosen.Members) == 1 && chosen.Members[0].Name == variant), nil
	}
	return nil, nil
}
