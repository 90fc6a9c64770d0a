package terminal

import (
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"

	"github.com/clewdbg/clew/server/values"
)

// packageVars lists global variables: Go's as Delve does, whose names have their package, and those of native code. Delve panics if the
// program has ended (docs/delve/ended.md).
func (s scopes) packageVars(arg rpc2.ListPackageVarsIn, out *rpc2.ListPackageVarsOut) error {
	group, unlock := s.dbg.LockTargetGroup()
	_, err := group.Valid()
	unlock()
	if err != nil {
		return err
	}
	if err := s.rpc.ListPackageVars(arg, out); err != nil {
		return err
	}
	s.gate.Lock()
	defer s.gate.Unlock()
	pattern, err := regexp.Compile(arg.Filter)
	if err != nil || !s.readable() {
		return nil
	}
	var own []api.Variable
	err = s.stacks.Outside(func(f *values.Frame) (err error) {
		own, err = listed(f, func(f *values.Frame) ([]*values.Value, error) { return f.Globals(pattern.MatchString) }, &arg.Cfg)
		return err
	})
	if err != nil {
		logFallback("ListPackageVars", err)
	}
	out.Variables = append(slices.DeleteFunc(out.Variables, func(v api.Variable) bool { return !strings.Contains(v.Name, ".") }), own...)
	return nil
}

// typeInfo describes a type by its name: native code's by clew, else as Delve does.
func (s scopes) typeInfo(arg rpc2.TypeInfoIn, out *rpc2.TypeInfoOut) error {
	natively := func() bool {
		s.gate.Lock()
		defer s.gate.Unlock()
		return s.readable() && s.stacks.Outside(func(f *values.Frame) error {
			d, err := f.Definition(arg.Name)
			if err != nil {
				return err
			}
			out.TypeInfo = &api.TypeInfo{Kind: kinds[d.Shape], Size: d.Size, RealType: d.Real}
			if d.Shape == values.Other {
				out.TypeInfo.Kind = reflect.Int // an enumeration, a character
			}
			for _, field := range d.Fields {
				out.TypeInfo.Fields = append(out.TypeInfo.Fields, api.TypeInfoField{Name: field.Name, Type: field.Type})
			}
			return nil
		}) == nil
	}
	isGo := goType.MatchString(arg.Name)
	if !isGo && natively() {
		return nil
	}
	err := s.rpc.TypeInfo(arg, out)
	if isGo && err != nil && natively() {
		return nil
	}
	return err
}

// defineIn asks for the definition of a type, or of an expression's type in a frame.
type defineIn struct {
	Text  string
	Scope api.EvalScope
}

// defineOut is the definition in lines.
type defineOut struct{ Lines []string }

// define is clew's own method, for ptype.
func (s scopes) define(arg defineIn, out *defineOut) error {
	work := func(f *values.Frame) error {
		d, behind, err := f.DefinitionOf(arg.Text)
		if err == nil {
			out.Lines = strings.Split(d.Text()+behind, "\n")
		}
		return err
	}
	if native, err := s.native(&arg.Scope, work); native {
		return err
	}
	s.gate.Lock()
	defer s.gate.Unlock()
	if !s.readable() {
		return errNotRead
	}
	return s.stacks.Outside(work)
}

var errNotRead = errors.New("types of native code are not known here")

// goType are names that are Go's: with a package, of composed types, and those that the language has.
var goType = regexp.MustCompile(`[.*\[]|^(func|map|chan|interface)\b|^(bool|u?int(8|16|32|64|ptr)?|float(32|64)|complex(64|128)|string|error|byte|rune|any)$`)
