package values

import (
	"debug/dwarf"
	"errors"
	"fmt"

	"github.com/clewdbg/clew/server/symbols/dwarfline"
	"github.com/clewdbg/clew/server/values/location"
	"github.com/clewdbg/clew/server/values/types"
)

// Bounds on scopes.
const (
	maxEntries   = 1 << 17 // directly in an entry
	maxBlocks    = 256     // within each other
	maxHops      = 16      // from an entry to the one that has an attribute
	maxVariables = 1 << 12 // that are listed of a frame
	maxLocations = 1 << 20 // entries of location lists that are read for a frame
)

const tagParameterPack = dwarf.Tag(0x4108) // DW_TAG_GNU_formal_parameter_pack

func isBlock(tag dwarf.Tag) bool {
	return tag == dwarf.TagLexDwarfBlock || tag == dwarf.TagTryDwarfBlock || tag == dwarf.TagCatchDwarfBlock || tag == dwarf.TagWithStmt
}

// inlinedIn returns the call that is inlined into a scope at the frame's address, nil if there is none: the last of several.
func (f *Frame) inlinedIn(scope *dwarfline.Entry, deeper int) (found *dwarfline.Entry, err error) {
	children, _, err := scope.Children(maxEntries)
	if err != nil || deeper == 0 {
		return nil, err
	}
	for _, c := range children {
		if !isBlock(c.Tag()) && c.Tag() != dwarf.TagInlinedSubroutine {
			continue
		}
		covers, known, err := c.Covers(f.addr)
		if err != nil {
			return nil, err
		}
		switch {
		case c.Tag() == dwarf.TagInlinedSubroutine && covers:
			found = c
		case isBlock(c.Tag()) && (covers || !known):
			in, err := f.inlinedIn(c, deeper-1)
			if err != nil {
				return nil, err
			}
			if in != nil {
				found = in
			}
		}
	}
	return found, nil
}

// declared is a variable's entry in a scope.
type declared struct {
	entry    *dwarfline.Entry
	argument bool
	depth    int // of its block
	missing  bool
}

// variables lists the entries of the variables in scope, those of outer blocks first.
func (f *Frame) variables() (out []declared, more bool, err error) {
	if f.lack != nil {
		return nil, false, f.lack
	}
	seen := make(map[dwarfline.Key]bool)
	err = f.block(f.scope, 0, &out, seen)
	// What the compiler has left out of this instance is in the function's abstract entry alone.
	if origin, failed := f.scope.Refers(dwarf.AttrAbstractOrigin); err == nil && failed == nil && origin != nil {
		children, _, failed := origin.Children(maxEntries)
		if failed == nil {
			for _, c := range children {
				tag := c.Tag()
				if (tag == dwarf.TagFormalParameter || tag == dwarf.TagVariable) && !seen[c.Key()] {
					out = append(out, declared{entry: c, argument: tag == dwarf.TagFormalParameter, missing: true})
				}
			}
		}
	}
	if len(out) > maxVariables {
		return out[:maxVariables], true, err
	}
	return out, false, err
}

// block adds the variables of a scope and of the blocks in it that have the address.
func (f *Frame) block(scope *dwarfline.Entry, depth int, out *[]declared, seen map[dwarfline.Key]bool) error {
	if depth == maxBlocks {
		return fmt.Errorf("more than %d blocks within each other", maxBlocks)
	}
	children, _, err := scope.Children(maxEntries)
	if err != nil {
		return err
	}
	var inner []*dwarfline.Entry
	for _, c := range children {
		switch tag := c.Tag(); {
		case tag == dwarf.TagFormalParameter || tag == dwarf.TagVariable:
			if origin, err := c.Refers(dwarf.AttrAbstractOrigin); err == nil && origin != nil {
				seen[origin.Key()] = true
			}
			*out = append(*out, declared{entry: c, argument: tag == dwarf.TagFormalParameter, depth: depth})
		case tag == tagParameterPack:
			inner = append(inner, c)
		case isBlock(tag):
			covers, known, err := c.Covers(f.addr)
			if err != nil {
				return err
			}
			if covers || !known && c.Has(dwarf.AttrAbstractOrigin) {
				inner = append(inner, c)
			}
		}
	}
	for _, c := range inner {
		if err := f.block(c, depth+1, out, seen); err != nil {
			return err
		}
	}
	return nil
}

// withAttr follows an entry's abstract origin and specification to the entry that has an attribute, nil if none has.
func withAttr(e *dwarfline.Entry, attr dwarf.Attr) (*dwarfline.Entry, error) {
	for range maxHops {
		if e.Has(attr) {
			return e, nil
		}
		next, err := e.Refers(dwarf.AttrAbstractOrigin)
		if err == nil && next == nil {
			next, err = e.Refers(dwarf.AttrSpecification)
		}
		if err != nil || next == nil {
			return nil, err
		}
		e = next
	}
	return nil, fmt.Errorf("more than %d references from an entry to another", maxHops)
}

func nameOf(e *dwarfline.Entry) string {
	if named, err := withAttr(e, dwarf.AttrName); err == nil && named != nil {
		return named.Text(dwarf.AttrName)
	}
	return ""
}

func (f *Frame) typeOf(e *dwarfline.Entry) (*types.Type, error) {
	typed, err := withAttr(e, dwarf.AttrType)
	switch {
	case err != nil:
		return nil, err
	case typed == nil:
		return nil, types.ErrNoType
	}
	return f.types.Of(typed)
}

// Arguments are the frame's, in their order.
func (f *Frame) Arguments() ([]*Value, error) { return f.listed(true) }

// Locals are the frame's variables that are no arguments: of outer blocks first. One that another hides is
// [Value.Shadowed].
func (f *Frame) Locals() ([]*Value, error) { return f.listed(false) }

func (f *Frame) listed(arguments bool) (out []*Value, err error) {
	all, more, err := f.variables()
	if err != nil {
		return nil, err
	}
	depth := make(map[string]int)
	for i := range all {
		name := nameOf(all[i].entry)
		depth[name] = max(depth[name], all[i].depth)
	}
	for i := range all {
		d := &all[i]
		if d.argument != arguments {
			continue
		}
		v := f.variable(d)
		if v.Name == "" && !arguments {
			continue // the compiler's own
		}
		v.Shadowed = d.depth < depth[v.Name]
		out = append(out, v)
	}
	if more {
		out = append(out, &Value{Name: "…", frame: f, typ: types.VoidType, err: fmt.Errorf("there are more than %d variables", maxVariables)})
	}
	return out, nil
}

// variable makes the value of a variable's entry.
func (f *Frame) variable(d *declared) *Value {
	v := &Value{Name: nameOf(d.entry), frame: f, Argument: d.argument}
	v.Path = v.Name
	f.stack.entries = 0
	if v.typ, v.err = f.typeOf(d.entry); v.err != nil {
		v.typ = types.VoidType
		return v
	}
	if d.missing {
		if e, err := withAttr(d.entry, dwarf.AttrConstValue); err == nil && e != nil {
			f.constant(v, e)
			return v
		}
		if !isDefined(d.entry) { // as a function's static is, which all of its instances share
			v.err = location.ErrOptimized
			return v
		}
	}
	f.place(v, d.entry)
	return v
}

var errDeclared = errors.New("it is declared here, and defined nowhere that is known")

// place finds where a variable lies.
func (f *Frame) place(v *Value, e *dwarfline.Entry) {
	defer f.stack.noting(v)()
	at, err := withAttr(e, dwarf.AttrLocation)
	if err != nil {
		v.err = err
		return
	}
	if at == nil {
		c, err := withAttr(e, dwarf.AttrConstValue)
		switch {
		case err != nil:
			v.err = err
		case c != nil:
			f.constant(v, c)
		case e.Flag(dwarf.AttrDeclaration):
			f.elsewhere(v, e)
		default:
			v.err = location.ErrOptimized
		}
		return
	}
	code, _, err := at.Location(dwarf.AttrLocation, f.addr, &f.locations)
	switch {
	case err != nil:
		v.err = err
	case len(code) == 0:
		v.err = location.ErrOptimized
	case f.notStored(at, code):
		v.err = errNotStored
	default:
		if v.err = f.inFrame(v, at, code); v.err != nil {
			return
		}
		if v.place, v.err = location.Evaluate(f, at, code); v.err == nil && !v.mayPoint() {
			v.err = errSpilled
		}
	}
}

var errSpilled = errors.New("DWARF says that it is a place on the stack, which its type cannot hold: a fault of the compiler's")

// mayPoint says whether a value that is a place on the stack has a type that can hold one.
func (v *Value) mayPoint() bool {
	if len(v.place.Pieces) != 1 || !v.place.Pieces[0].Stack {
		return true
	}
	u, err := v.typ.Under()
	if err != nil || u.Kind == types.Pointer || u.Kind == types.Reference {
		return true
	}
	size, err := u.Bytes()
	return err != nil || size == 8 && (u.IsInteger() || u.Kind == types.Struct || u.Kind == types.Union)
}

// constant takes a variable's value from its entry.
func (f *Frame) constant(v *Value, e *dwarfline.Entry) {
	if data, ok, err := e.Block(dwarf.AttrConstValue); ok || err != nil {
		v.place, v.err = location.Of(data), err
		return
	}
	n, ok := e.Constant(dwarf.AttrConstValue)
	if !ok {
		if text := e.Text(dwarf.AttrConstValue); text != "" {
			v.place = location.Of(append([]byte(text), 0))
			return
		}
		v.err = errors.New("its constant has an unknown form")
		return
	}
	size, err := v.typ.Bytes()
	if err != nil {
		v.err = err
		return
	}
	if u, err := v.typ.Under(); err == nil && size == 16 && u.IsInteger() && (n.Signed || int64(n.Value) >= 0) {
		high := uint64(0)
		if n.Signed && n.Int() < 0 {
			high = ^high
		}
		v.place = location.Of(append(wordOf(uint64(n.Int())), wordOf(high)...))
		return
	}
	if size > 8 {
		v.err = fmt.Errorf("its constant has fewer bytes than its type, %d", size)
		return
	}
	u, err := v.typ.Under()
	if err != nil {
		v.err = err
		return
	}
	word := n.Value
	if u.IsSigned() {
		word = uint64(n.Int())
	}
	v.place = location.Of(wordOf(word))
}
