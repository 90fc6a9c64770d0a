package reading

import (
	"fmt"
	"strings"

	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/service/api"

	"github.com/clewdbg/clew/internal/unwind/stackjson"
)

// goLoads is how much Delve reads of a variable: what its terminal does.
var goLoads = proc.LoadConfig{FollowPointers: true, MaxVariableRecurse: 1, MaxStringLen: 64, MaxArrayValues: 64, MaxStructFields: -1}

// maxGoText bounds the text of a variable, in bytes: Delve writes whole structures of the runtime.
const maxGoText = 1 << 10

// GoValues are the arguments and locals of a Go frame, as Delve's terminal writes them. index is the frame's in Delve's own
// stack; where that is negative Delve reads them in the frame that clew has recovered.
func (s *Reader) GoValues(f *RecoveredFrame, index int) (arguments, locals []stackjson.Value, err error) {
	defer func() {
		if r := recover(); r != nil { // Delve's code does not survive corrupt tables
			err = fmt.Errorf("the variables of this frame are too much for Delve: %v", r)
		}
	}()
	group, unlock, err := s.program.Stopped()
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	scope, err := f.scope(group.Selected, index)
	if err != nil {
		return nil, nil, err
	}
	args, err := scope.FunctionArguments(goLoads)
	if err != nil {
		return nil, nil, err
	}
	vars, err := scope.LocalVariables(goLoads)
	return goForms(args, stackjson.KindArgument), goForms(vars, stackjson.KindLocal), err
}

// scope is what Delve evaluates the frame's variables in.
func (f *RecoveredFrame) scope(t *proc.Target, index int) (*proc.EvalScope, error) {
	if index >= 0 && f.Goroutine != 0 {
		return proc.ConvertEvalScope(t, int64(f.Goroutine), index, 0)
	}
	frames, at, err := f.rows(t)
	if err != nil {
		return nil, err
	}
	var g *proc.G
	if f.Goroutine != 0 {
		if g, err = proc.FindGoroutine(t, int64(f.Goroutine)); err != nil {
			return nil, err
		}
	}
	return proc.FrameToScope(t, t.Memory(), g, t.CurrentThread().ThreadID(), frames[at:]...), nil
}

func goForms(all []*proc.Variable, kind stackjson.ValueKind) (out []stackjson.Value) {
	for _, v := range all {
		out = append(out, goForm(api.ConvertVar(v), kind))
	}
	return out
}

// goForm is a variable of Delve's as stacks have values.
func goForm(v *api.Variable, kind stackjson.ValueKind) stackjson.Value {
	out := stackjson.Value{Name: v.Name, Type: v.Type, Kind: kind, Shadowed: v.Flags&api.VariableShadowed != 0}
	if v.Unreadable != "" {
		out.Unknown = v.Unreadable
		return out
	}
	out.Value = v.SinglelineString()
	if len(out.Value) > maxGoText {
		out.Value = strings.ToValidUTF8(out.Value[:maxGoText], "") + "…"
	}
	if v.Addr != 0 && v.Flags&api.VariableFakeAddress == 0 {
		at := stackjson.Address(v.Addr)
		out.RestsOn = []stackjson.Rest{{Memory: &at}}
	}
	for i := range v.Children {
		out.Children = append(out.Children, goForm(&v.Children[i], kind))
	}
	if n := v.Len - int64(len(v.Children)); n > 0 && len(v.Children) > 0 {
		out.More = int(min(n, 1<<31-1))
	}
	return out
}
