package tools

import (
	"flag"
	"fmt"
	"go/types"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const (
	// promised are the packages whose exported names stay within a major version (docs/compatibility.md).
	promised = "./cbf/... ./crash/... ./imagemap/... ./sframe/... ./unwind/..."
	apiList  = "../docs/api.txt"
)

// unpromised are what these packages export and do not promise.
var unpromised = []string{
	// An example is to be read.
	"unwind/plugin/example",
	// What protoc generates: its messages are the contract, TestPluginContract keeps them.
	"unwind/wire/unwindv1",
	// Assembled stacks are the host's: no strategy is given one, and some fields are clew's own.
	"unwind.Ancestor", "unwind.Creation", "unwind.End", "unwind.Frame", "unwind.InstructionInfo", "unwind.Rejection", "unwind.Saved",
	"unwind.Stack", "unwind.State", "unwind.StopKind", "unwind.Thread", "unwind.Truncated",
}

var update = flag.Bool("update", false, "write docs/api.txt anew")

// TestAPI compares what the promised packages export with the committed list. A name that is missing, or whose type has changed,
// breaks programs of other people; a new one is a promise, so that it stands in the list too.
func TestAPI(t *testing.T) {
	have := exported(t)
	if *update {
		if err := os.WriteFile(apiList, []byte(strings.Join(have, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(apiList)
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range listed {
		if _, ok := slices.BinarySearch(have, line); !ok {
			t.Errorf("docs/api.txt promises what is gone or has changed: %s", line)
		}
	}
	for _, line := range have {
		if _, ok := slices.BinarySearch(listed, line); !ok {
			t.Errorf("a new promise, which docs/api.txt does not list (go -C tools test -run TestAPI -update): %s", line)
		}
	}
}

// exported lists what the promised packages export, a line for each name, field and method, sorted.
func exported(t *testing.T) []string {
	pkgs, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps | packages.NeedSyntax | packages.NeedTypesInfo, Dir: ".."}, strings.Fields(promised)...)
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) < 8 {
		t.Fatalf("only %d packages", len(pkgs))
	}
	var lines []string
	for _, p := range pkgs {
		if len(p.Errors) > 0 {
			t.Fatal(p.Errors)
		}
		path := strings.TrimPrefix(p.PkgPath, "github.com/clewdbg/clew/")
		if p.Name == "main" || left(path) {
			continue
		}
		scope := p.Types.Scope()
		for _, name := range scope.Names() {
			if o := scope.Lookup(name); o.Exported() && !left(path+"."+name) {
				lines = append(lines, of(path, o)...)
			}
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// left says that a package or name is not promised.
func left(name string) bool {
	return slices.ContainsFunc(unpromised, func(u string) bool { return name == u || strings.HasPrefix(name, u+"/") })
}

// of lists an object and what it has.
func of(path string, o types.Object) []string {
	short := func(p *types.Package) string { return strings.TrimPrefix(p.Path(), "github.com/clewdbg/clew/") }
	name := path + "." + o.Name()
	declared, isType := o.(*types.TypeName)
	if c, ok := o.(*types.Const); ok {
		return []string{fmt.Sprintf("const %s %s = %s", name, types.TypeString(c.Type(), short), c.Val().ExactString())}
	}
	if !isType {
		return []string{fmt.Sprintf("%s %s", name, types.TypeString(unnamed(o.Type()), short))}
	}
	var lines []string
	named := types.Unalias(declared.Type())
	switch u := named.Underlying().(type) {
	case *types.Struct:
		lines = append(lines, "type "+name+" struct")
		for f := range u.Fields() {
			if f.Exported() {
				lines = append(lines, fmt.Sprintf("field %s.%s %s", name, f.Name(), types.TypeString(f.Type(), short)))
			}
		}
	case *types.Interface: // as a whole: a method more breaks those who implement it
		lines = append(lines, fmt.Sprintf("type %s %s", name, types.TypeString(u, short)))
	default:
		lines = append(lines, fmt.Sprintf("type %s %s", name, types.TypeString(u, short)))
	}
	if !types.IsInterface(named) {
		for m := range types.NewMethodSet(types.NewPointer(named)).Methods() {
			if m.Obj().Exported() {
				receiver := "*"
				if types.NewMethodSet(named).Lookup(m.Obj().Pkg(), m.Obj().Name()) != nil {
					receiver = ""
				}
				lines = append(lines, fmt.Sprintf("method (%s%s).%s %s", receiver, name, m.Obj().Name(), types.TypeString(unnamed(m.Type()), short)))
			}
		}
	}
	return lines
}

// unnamed is a function's type without the names of its parameters, which may change.
func unnamed(t types.Type) types.Type {
	f, ok := t.(*types.Signature)
	if !ok {
		return t
	}
	without := func(all *types.Tuple) *types.Tuple {
		var out []*types.Var
		for v := range all.Variables() {
			out = append(out, types.NewVar(v.Pos(), v.Pkg(), "", v.Type()))
		}
		return types.NewTuple(out...)
	}
	return types.NewSignatureType(nil, nil, nil, without(f.Params()), without(f.Results()), f.Variadic())
}
