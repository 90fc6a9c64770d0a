package terminal

import (
	"reflect"
	"testing"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"
)

// TestHarmless: every text of an answer is safe to show but the program's own strings, which the terminal quotes.
func TestHarmless(t *testing.T) {
	const raw, safe = "a\x1b[2J\nb", `a\x1b[2J\nb`
	locals := rpc2.ListLocalVarsOut{Variables: []api.Variable{
		{Name: raw, Type: raw, Kind: reflect.String, Value: raw, Unreadable: raw},
		{Name: "f", Kind: reflect.Func, Value: raw, Children: []api.Variable{{Name: raw}}},
	}}
	disarm(reflect.ValueOf(&locals))
	want := rpc2.ListLocalVarsOut{Variables: []api.Variable{
		{Name: safe, Type: safe, Kind: reflect.String, Value: raw, Unreadable: safe},
		{Name: "f", Kind: reflect.Func, Value: safe, Children: []api.Variable{{Name: safe}}},
	}}
	if !reflect.DeepEqual(locals, want) {
		t.Errorf("%+v", locals)
	}
	registers := rpc2.ListRegistersOut{Registers: "Rip = 1\nRsp = \x1b2\n", Regs: api.Registers{{Name: raw}}}
	disarm(reflect.ValueOf(&registers))
	if registers.Registers != "Rip = 1\nRsp = \\x1b2\n" || registers.Regs[0].Name != safe {
		t.Errorf("%+v", registers)
	}
	state := rpc2.StateOut{State: &api.DebuggerState{CurrentThread: &api.Thread{File: raw}, SelectedGoroutine: &api.Goroutine{Labels: map[string]string{raw: raw}}}}
	disarm(reflect.ValueOf(&state))
	if g := state.State.SelectedGoroutine; state.State.CurrentThread.File != safe || !reflect.DeepEqual(g.Labels, map[string]string{safe: safe}) {
		t.Errorf("%+v", state.State)
	}
	memory := rpc2.ExaminedMemoryOut{Mem: []byte(raw)}
	disarm(reflect.ValueOf(&memory))
	if string(memory.Mem) != raw {
		t.Errorf("%q", memory.Mem)
	}
}
