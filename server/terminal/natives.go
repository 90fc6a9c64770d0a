package terminal

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/server/values"
)

// inValues answers a request about what a frame holds: of native code by clew, whatever Delve knows of the frame, else as
// [scopes.inFrame].
func (s scopes) inValues(scope *api.EvalScope, byDelve func() error, work func(*values.Frame) error) error {
	if native, err := s.native(scope, work); native {
		return err
	}
	return s.inFrame(scope, byDelve, nil)
}

// nativeFrame begins an error about a frame of native code.
const nativeFrame = "frame "

// native does work in a frame of native code; it returns false for others.
func (s scopes) native(scope *api.EvalScope, work func(*values.Frame) error) (native bool, err error) {
	s.gate.Lock()
	defer s.gate.Unlock()
	if scope.Frame < 0 || scope.Frame >= maxDepth || scope.DeferredCall > 0 || !s.readable() {
		return false, nil
	}
	stack, _, err := s.stack(&rpc2.StacktraceIn{Id: scope.GoroutineID, Depth: scope.Frame})
	if err != nil || stack == nil || scope.Frame >= len(stack.Frames) {
		return false, nil
	}
	native, err = s.stacks.InNative(stack, scope.Frame, work)
	if native && err != nil {
		err = fmt.Errorf(nativeFrame+"%d: %w", scope.Frame, err)
	}
	return native, err
}

// listed lists a frame's variables.
func listed(f *values.Frame, list func(*values.Frame) ([]*values.Value, error), cfg *api.LoadConfig) (out []api.Variable, err error) {
	all, err := list(f)
	if err != nil {
		return nil, err
	}
	l := loaderOf(cfg)
	for _, v := range all {
		one := l.variable(v)
		if v.Argument {
			one.Flags |= api.VariableArgument
		}
		if v.Shadowed {
			one.Flags |= api.VariableShadowed
		}
		out = append(out, one)
	}
	return out, nil
}

// registersOf are a frame's registers, each with what it rests on.
func registersOf(f *values.Frame) (out api.Registers) {
	for _, reg := range f.Registers() {
		one := api.Register{Name: strings.ToUpper(reg.Name[:1]) + reg.Name[1:], DwarfNumber: int(reg.Number)}
		if reg.Err != nil {
			one.Value = strings.Trim(values.Unknown(reg.Err), "<>")
		} else {
			one.Value = fmt.Sprintf("0x%016x\t%s", reg.Value, reg.Origin)
		}
		out = append(out, one)
	}
	return out
}

// loader makes values as Delve's interface has them.
type loader struct {
	follow                  bool
	depth, elements, fields int
	left                    int // values
}

// maxLoaded bounds the values of an answer.
const maxLoaded = 1 << 16

func loaderOf(cfg *api.LoadConfig) *loader {
	if cfg == nil {
		return &loader{follow: true, depth: 1, elements: 64, fields: -1, left: maxLoaded}
	}
	return &loader{cfg.FollowPointers, cfg.MaxVariableRecurse, cfg.MaxArrayValues, cfg.MaxStructFields, maxLoaded}
}

func (l *loader) variable(v *values.Value) api.Variable { return l.load(v, l.depth+1) }

func (l *loader) load(v *values.Value, deeper int) (out api.Variable) {
	l.left--
	shape := v.Shape()
	out = api.Variable{Name: v.Name, Type: v.Type(), RealType: v.RealType(), Kind: kinds[shape]}
	var places []string
	for _, r := range v.Rests() {
		places = append(places, r.String())
	}
	out.LocationExpr = strings.Join(places, "; ")
	addr, ok := v.Address()
	out.Addr = addr
	if !ok {
		out.Flags |= api.VariableFakeAddress
	}
	if err := v.Err(); err != nil {
		out.Unreadable = strings.Trim(values.Unknown(err), "<>")
		return out
	}
	switch shape {
	case values.Fields:
		l.fieldsOf(v, &out, deeper)
	case values.Elements:
		l.elementsOf(v, &out, deeper)
	case values.Pointer:
		l.target(v, &out, deeper)
	case values.Reference:
		to := v.Follow()
		to.Name = v.Name
		name := out.Type
		out = l.load(to, deeper)
		out.Type = name
	case values.Text:
		text, n, err := v.Characters()
		if err != nil {
			out.Unreadable = strings.Trim(values.Unknown(err), "<>")
		}
		out.Value, out.Len = text, n
	default:
		out.Value = v.Text()
	}
	return out
}

var kinds = map[values.Shape]reflect.Kind{
	values.Fields: reflect.Struct, values.Elements: reflect.Array, values.Pointer: reflect.Pointer, values.Text: reflect.String,
	values.Integer: reflect.Int64, values.Natural: reflect.Uint64, values.Truth: reflect.Bool, values.Float: reflect.Float64,
	values.Other: reflect.Func, // whose text is written as it is
}

func (l *loader) fieldsOf(v *values.Value, out *api.Variable, deeper int) {
	all := v.Named()
	out.Len = int64(len(all))
	if deeper == 0 {
		return
	}
	for i, f := range all {
		if l.fields >= 0 && i >= l.fields || l.left <= 0 {
			break
		}
		out.Children = append(out.Children, l.load(f, deeper-1))
	}
}

func (l *loader) elementsOf(v *values.Value, out *api.Variable, deeper int) {
	out.Len = int64(v.Counts().Indexed)
	out.Cap, out.Base = out.Len, out.Addr
	if deeper == 0 {
		return
	}
	for _, e := range v.Indexed(0, min(l.elements, l.left)) {
		one := l.load(e, deeper-1)
		one.Name = ""
		out.Children = append(out.Children, one)
	}
}

// target is what a pointer points to: its address alone where pointers are not followed.
func (l *loader) target(v *values.Value, out *api.Variable, deeper int) {
	to := v.Follow()
	addr, ok := to.Address()
	if ok && addr == 0 {
		return // nil
	}
	child := api.Variable{Addr: addr, Type: to.Type(), OnlyAddr: true}
	if text, n, ok := v.PointedText(); ok {
		child.Kind, child.Value, child.Len, child.OnlyAddr = reflect.String, text, n, false
	} else if l.follow && deeper > 0 && l.left > 0 && to.Err() == nil && v.Counts().Named > 0 {
		child = l.load(to, deeper-1)
	} else if !ok {
		out.Kind, out.Value = reflect.Func, v.Text()
		return
	}
	out.Children = []api.Variable{child}
}
