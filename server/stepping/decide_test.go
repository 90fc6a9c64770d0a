package stepping

import (
	"errors"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// Addresses of a small program: C code on a g0 stack, called by Go code on a
// goroutine's.
const (
	pcLeaf, pcMiddle, pcOuter = 0x40_1010, 0x40_2020, 0x40_3030
	pcGo                      = 0x48_0050
	g0High, goHigh            = 0x7ffd_0000_2000, 0xc000_0080_0000
	sp0                       = 0x7ffd_0000_1000
)

func frame(pc, sp, cfa uint64, trust unwind.Trust, function string) unwind.Frame {
	f := unwind.Frame{PC: unwind.Code(pc, unwind.KindReturn), CFA: cfa, Trust: trust, Strategy: "dwarfcfi", Function: function, DelveFrame: -1, Segment: 1}
	f.Registers.Set(unwind.AMD64.PC(), pc)
	f.Registers.Set(unwind.AMD64.SP(), sp)
	return f
}

// situation is a stop in leaf, called by middle, called by outer, which Delve
// sees as we do.
func situation() *Situation {
	frames := []unwind.Frame{
		frame(pcLeaf, sp0, sp0+0x30, unwind.TrustContext, "leaf"),
		frame(pcMiddle, sp0+0x30, sp0+0x60, unwind.TrustCFI, "middle"),
		frame(pcOuter, sp0+0x60, 0, unwind.TrustCFI, "outer"),
	}
	return &Situation{
		Arch: unwind.AMD64,
		Thread: unwind.Thread{ID: 7, Goroutine: 1, Claims: append([]unwind.Frame(nil), frames...), Segments: []unwind.Segment{
			{Low: goHigh - 0x8000, High: goHigh, Kind: unwind.SegmentGoroutine},
			{Low: g0High - 0x4000, High: g0High, Kind: unwind.SegmentG0},
		}},
		Stack:      unwind.Stack{Frames: frames, DepthLimited: true, Reason: "depth limit of 3 frames"},
		Executable: unwind.NewRangeSet(unwind.Range{Start: 0x40_0000, End: 0x50_0000}),
	}
}

func TestDecide(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Situation)
		want   map[Command]Action
		reason string
	}{
		{"Delve agrees", func(*Situation) {},
			map[Command]Action{Next: Delegate, StepIn: Delegate, StepOut: Delegate}, ""},
		{"another return address", func(s *Situation) { s.Thread.Claims[1] = frame(pcOuter, sp0+0x60, sp0+0x90, 0, "outer") },
			map[Command]Action{Next: Assist, StepIn: Assist, StepOut: Return}, "for the return address"},
		{"another CFA of the caller", func(s *Situation) { s.Thread.Claims[1].CFA += 8 },
			map[Command]Action{Next: Assist, StepIn: Assist, StepOut: Return}, "CFA of the caller"},
		{"another CFA of this frame", func(s *Situation) { s.Thread.Claims[0].CFA += 8 },
			map[Command]Action{Next: Assist, StepIn: Assist, StepOut: Return}, "CFA of this frame"},
		{"Delve knows no caller", func(s *Situation) { s.Thread.Claims = s.Thread.Claims[:1] },
			map[Command]Action{Next: Assist, StepIn: Assist, StepOut: Return}, "knows no caller"},
		{"no lines", func(s *Situation) { s.Thread.Claims[0].Function = "" },
			map[Command]Action{Next: Return, StepIn: Return, StepOut: Delegate}, "no lines"},
		{"no lines, and Delve is wrong", func(s *Situation) { s.Thread.Claims[0].Function, s.Thread.Claims[1].CFA = "", 1 },
			map[Command]Action{Next: Return, StepIn: Return, StepOut: Return}, ""},
		{"an inlined call, and Delve is wrong", func(s *Situation) {
			in := s.Thread.Claims[0]
			in.Inlined = true
			s.Thread.Claims = append([]unwind.Frame{in}, s.Thread.Claims...)
			s.Thread.Claims[2].CFA++
		}, map[Command]Action{Next: Assist, StepIn: Assist, StepOut: Assist}, "CFA of the caller"},
		{"the caller was scanned for", func(s *Situation) { s.Stack.Frames[1].Trust = unwind.TrustScan },
			map[Command]Action{Next: Refuse, StepIn: Refuse, StepOut: Refuse}, "only guessed"},
		{"the stack is truncated", func(s *Situation) {
			s.Stack.Frames, s.Stack.DepthLimited, s.Stack.Reason = s.Stack.Frames[:1], false, "no strategy covers this code"
		}, map[Command]Action{Next: Refuse, StepIn: Refuse, StepOut: Refuse}, "no strategy covers this code"},
		{"the outermost frame", func(s *Situation) {
			s.Stack.Frames, s.Stack.Stop, s.Stack.Reason = s.Stack.Frames[:1], unwind.End, "runtime.goexit"
		}, map[Command]Action{Next: Delegate, StepIn: Delegate, StepOut: Refuse}, "outermost"},
		{"the program's start", func(s *Situation) {
			s.Stack.Frames, s.Stack.Stop, s.Stack.Reason = s.Stack.Frames[:1], unwind.Truncated, "no believable caller"
			s.Thread.Claims = []unwind.Frame{frame(pcLeaf, sp0, sp0+0x30, 0, "_rt0_amd64_linux")}
		}, map[Command]Action{Next: Delegate, StepIn: Delegate, StepOut: Refuse}, "outermost"},
		{"the caller is no code", func(s *Situation) { s.Executable = unwind.NewRangeSet(unwind.Range{Start: 0x40_0000, End: 0x40_2000}) },
			map[Command]Action{Next: Refuse, StepIn: Refuse, StepOut: Refuse}, "outside every executable mapping"},
		{"the caller's stack pointer is unknown", func(s *Situation) { s.Stack.Frames[1].Registers.Forget(unwind.AMD64.SP()) },
			map[Command]Action{Next: Refuse, StepIn: Refuse, StepOut: Refuse}, "stack pointer"},
		{"the caller's stack is not the thread's", func(s *Situation) { s.Stack.Frames[1].Segment = 2 },
			map[Command]Action{Next: Refuse, StepIn: Refuse, StepOut: Refuse}, "none of the thread's stacks"},
		{"a signal has interrupted code on an unknown stack", func(s *Situation) {
			s.Stack.Frames[1].Segment, s.Stack.Frames[1].PC = 2, unwind.Code(pcMiddle, unwind.KindInstruction)
		}, map[Command]Action{Next: Delegate, StepIn: Delegate, StepOut: Delegate}, ""},
		{"no stack", func(s *Situation) { s.Stack.Frames, s.Stack.Reason = nil, "no registers" },
			map[Command]Action{Next: Refuse, StepIn: Refuse, StepOut: Refuse}, "no registers"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for cmd, want := range tt.want {
				s := situation()
				tt.change(s)
				d := Decide(cmd, s)
				if d.Action != want {
					t.Errorf("%s: %s (%s), want %s", cmd, d.Action, d.Reason, want)
				}
				if d.Action == Delegate {
					continue
				}
				if !strings.Contains(d.Reason, tt.reason) || d.Reason == "" {
					t.Errorf("%s: reason %q does not say %q", cmd, d.Reason, tt.reason)
				}
				var refused *RefusedError
				if got := errors.As(d.Err(), &refused); got != (want == Refuse) {
					t.Errorf("%s: error %v", cmd, d.Err())
				}
				if want := (Temporary{PC: pcMiddle, SP: sp0 + 0x30, Thread: 7, Goroutine: 1}); d.Action != Refuse && d.Caller != want {
					t.Errorf("%s: breakpoint %+v, want %+v", cmd, d.Caller, want)
				}
			}
		})
	}
}

// TestCallerOnGoroutineStack leaves the runtime's switch to the system stack:
// the caller is on a stack that may move meanwhile.
func TestCallerOnGoroutineStack(t *testing.T) {
	s := situation()
	s.Stack.Frames[1] = frame(pcGo, goHigh-0x200, goHigh-0x180, unwind.TrustCFI, "runtime.cgocall")
	s.Stack.Frames[1].Segment = 0
	d := Decide(StepOut, s)
	want := Temporary{PC: pcGo, SP: goHigh - 0x200, Goroutine: 1, OnGoroutine: true, StackHigh: goHigh}
	if d.Action != Return || d.Caller != want {
		t.Errorf("%s %+v, want %+v", d.Action, d.Caller, want)
	}
}

func TestMatches(t *testing.T) {
	onThread := Temporary{PC: pcMiddle, SP: sp0, Thread: 7, Goroutine: 1}
	moving := Temporary{PC: pcGo, SP: goHigh - 0x200, Goroutine: 1, OnGoroutine: true, StackHigh: goHigh}
	tests := []struct {
		name                        string
		at                          *Temporary
		thread, sp, goroutine, high uint64
		want                        bool
	}{
		{"the return", &onThread, 7, sp0, 0, 0, true},
		{"a deeper activation", &onThread, 7, sp0 - 0x40, 0, 0, false},
		{"an outer activation", &onThread, 7, sp0 + 0x40, 0, 0, false},
		{"another thread", &onThread, 8, sp0, 0, 0, false},
		{"the return to Go", &moving, 7, goHigh - 0x200, 1, goHigh, true},
		{"on another thread", &moving, 9, goHigh - 0x200, 1, goHigh, true},
		{"after the stack has moved", &moving, 7, 0xc001_0000_0000 - 0x200, 1, 0xc001_0000_0000, true},
		{"at the old place, after the stack has moved", &moving, 7, goHigh - 0x200, 1, 0xc001_0000_0000, false},
		{"another goroutine", &moving, 7, goHigh - 0x200, 2, goHigh, false},
		{"a deeper activation in Go", &moving, 7, goHigh - 0x280, 1, goHigh, false},
	}
	for _, tt := range tests {
		if got := tt.at.Matches(tt.thread, tt.sp, tt.goroutine, tt.high); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
