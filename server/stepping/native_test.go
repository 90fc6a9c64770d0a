package stepping

import (
	"testing"

	"github.com/clewdbg/clew/server/stepping/lines"
	"github.com/clewdbg/clew/unwind"
)

// oneLine is native code with one line, or none.
type oneLine struct {
	chain []lines.Frame
	glue  bool
}

func (c *oneLine) Bytes(uint64, int) []byte { return nil }
func (c *oneLine) Place(addr uint64) lines.Place {
	return lines.Place{Start: addr, Statement: true, Chain: c.chain}
}
func (c *oneLine) Imported(uint64) (lines.Function, bool) { return lines.Function{}, false }
func (c *oneLine) Height(uint64) (uint64, bool)           { return 0, false }
func (c *oneLine) Find(string) []uint64                   { return nil }
func (c *oneLine) Named(string) []lines.Function          { return nil }
func (c *oneLine) Function(uint64) (lines.Function, bool) {
	return lines.Function{Name: "leaf", Glue: c.glue}, true
}

// TestNative: steps in native code are clew's, whatever Delve has.
func TestNative(t *testing.T) {
	in := lines.Frame{Function: "leaf", File: "leaf.c", Line: 7}
	for _, tt := range []struct {
		name    string
		code    *oneLine
		change  func(*Situation)
		byLines map[Command]bool
		action  Action
	}{
		{"lines", &oneLine{chain: []lines.Frame{in}}, func(*Situation) {}, map[Command]bool{Next: true, StepIn: true}, Return},
		{"inlined", &oneLine{chain: []lines.Frame{in, in}}, func(*Situation) {}, map[Command]bool{Next: true, StepIn: true, StepOut: true}, Return},
		{"no lines", &oneLine{}, func(*Situation) {}, nil, Return},
		{"glue", &oneLine{glue: true}, func(*Situation) {}, map[Command]bool{StepIn: true}, Return},
		{"Delve has no frames", &oneLine{chain: []lines.Frame{in}}, func(s *Situation) { s.Thread.Claims = nil }, map[Command]bool{Next: true, StepIn: true}, Return},
		{"the caller is a guess", &oneLine{chain: []lines.Frame{in}}, func(s *Situation) { s.Stack.Frames[1].Trust = unwind.TrustScan },
			map[Command]bool{Next: true, StepIn: true}, Refuse},
	} {
		for _, cmd := range []Command{Next, StepIn, StepOut} {
			s := situation()
			s.Native, s.Code = true, tt.code
			tt.change(s)
			d := Decide(cmd, s)
			if d.Action != tt.action || d.Action == Return && d.Caller.PC != pcMiddle || (d.Lines != nil) != tt.byLines[cmd] || !d.Native {
				t.Errorf("%s, %s: %s to %#x, by lines %v", tt.name, cmd, d.Action, d.Caller.PC, d.Lines != nil)
			}
		}
	}
	// The outermost frame has lines to step through, and nothing to return to.
	for cmd, want := range map[Command]Action{Next: Return, StepOut: Refuse} {
		s := situation()
		s.Native, s.Code = true, &oneLine{chain: []lines.Frame{in}}
		s.Stack.Frames, s.Stack.Stop = s.Stack.Frames[:1], unwind.End
		if d := Decide(cmd, s); d.Action != want || d.Caller.PC != 0 {
			t.Errorf("outermost, %s: %s", cmd, d.Action)
		}
	}
}
