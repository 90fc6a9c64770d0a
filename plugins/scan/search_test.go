package scan

import (
	"fmt"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// blank returns n words that point nowhere.
func blank(n int) []uint64 { return make([]uint64, n) }

// words puts lists of words together.
func stackOf(lists ...[]uint64) (all []uint64) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// TestR7OnlyBehindACall: a word that points into code is not enough.
func TestR7OnlyBehindACall(t *testing.T) {
	for name, word := range map[string]uint64{
		"function's entry": midAt, "middle of code": plainAt + 3, "within the call": midRA - 2, "data": dataBase, "stack": stackBase, "code's very end": codeBase + codeSize,
		"below all code": codeBase, "number": 17,
	} {
		t.Run(name, func(t *testing.T) { at(t, word).findsNone(unwind.StopNoRule, "none of 1 words") })
	}
}

// TestR7Encodings: every form of call is recognised, whatever comes before it.
func TestR7Encodings(t *testing.T) {
	for name, call := range map[string][]byte{
		"call rel32":               nil,
		"call *%rax":               {0xff, 0xd0},
		"call *%r15":               {0x41, 0xff, 0xd7},
		"notrack call *%rdx":       {0x3e, 0xff, 0xd2},
		"call *(%rax)":             {0xff, 0x10},
		"call *8(%rax)":            {0xff, 0x50, 8},
		"call *8(%r12)":            {0x41, 0xff, 0x54, 0x24, 8},
		"call *0x1234(%rbx)":       {0xff, 0x93, 0x34, 0x12, 0, 0},
		"call *(%rax,%rcx,8)":      {0xff, 0x14, 0xc8},
		"call *0x40(%rax,%rcx,8)":  {0xff, 0x54, 0xc8, 0x40},
		"call *0x1234(,%r9,8)":     {0x42, 0xff, 0x14, 0xcd, 0x34, 0x12, 0, 0},
		"call *0x1234(%rsp,%r9,8)": {0x42, 0xff, 0x94, 0xcc, 0x34, 0x12, 0, 0},
		"call *x(%rip)":            {0xff, 0x15, 0, 0x10, 0, 0},
		"call *%fs:0x10":           {0x64, 0xff, 0x14, 0x25, 0x10, 0, 0, 0},
		"data16 rex.W call *(rip)": {0x66, 0x48, 0xff, 0x15, 0, 0x10, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if call == nil {
				at(t, midRA).finds(midRA, 1, noteCode)
				return
			}
			f := at(t, plainAt+32)
			code := append([]byte(nil), image64...)
			copy(code[plainAt+32-codeBase-uint64(len(call)):], call)
			f.request.Stack[1].Data = code
			f.finds(plainAt+32, 1, noteIndirect)
		})
	}
	for name, code := range map[string][]byte{
		"jmp *%rax": {0xff, 0xe0}, "push (%rax)": {0xff, 0x30}, "call far *(%rax)": {0xff, 0x18}, "inc %eax": {0xff, 0xc0},
		"call rel32 out of all code": {0xe8, 0, 0, 0, 0x40}, "jmp rel32": {0xe9, 0, 0, 0, 0},
	} {
		t.Run("not "+name, func(t *testing.T) {
			f := at(t, plainAt+32)
			image := append([]byte(nil), image64...)
			copy(image[plainAt+32-codeBase-uint64(len(code)):], code)
			f.request.Stack[1].Data = image
			f.findsNone(unwind.StopNoRule, "behind no call: 1")
		})
	}
}

// TestR7Window: 160 words for the innermost frame, 40 for the others.
func TestR7Window(t *testing.T) {
	for _, c := range []struct {
		kind  unwind.PCKind
		words int
	}{{unwind.KindInstruction, 160}, {unwind.KindReturn, 40}} {
		for _, over := range []int{0, 1} {
			t.Run(fmt.Sprintf("%v+%d", c.kind, over), func(t *testing.T) {
				f := at(t, stackOf(blank(c.words-1+over), []uint64{pointerRA}, blank(4))...)
				if c.kind == unwind.KindReturn {
					f.returnTo(byTableRA)
				}
				if over == 0 {
					f.finds(pointerRA, uint64(c.words), noteIndirect)
				} else {
					f.findsNone(unwind.StopNoRule, fmt.Sprintf("none of %d words", c.words))
				}
			})
		}
	}
}

// TestEndOfStack: no word beyond the segment is looked at.
func TestEndOfStack(t *testing.T) {
	f := at(t, 0, 0, pointerRA)
	f.request.Segment.High -= 8
	f.findsNone(unwind.StopNoRule, "up to the end of the stack")
}

// TestOldCall: a return address of a call that is over is refused where what was
// called cannot lead here.
func TestOldCall(t *testing.T) {
	at(t, otherRA, outerRA, byAllocRA).returnTo(allocRA).finds(byAllocRA, 3, noteReached)
	at(t, otherRA).findsNone(unwind.StopNoRule, "of calls that cannot lead here: 1")
}

// TestTailCall: the function that was called has jumped here.
func TestTailCall(t *testing.T) { at(t, byTailRA).finds(byTailRA, 1, noteCode) }

// TestStub: the function was called through a stub for dynamic linking, which
// tells what it is bound to.
func TestStub(t *testing.T) {
	at(t, byStubRA).finds(byStubRA, 1, noteCode)
	f := at(t, byStubRA)
	f.request.Stack[2] = pointers(other2At, leafAt)
	f.findsNone(unwind.StopNoRule, "of calls that cannot lead here: 1")
	// What it is bound to is unknown: nothing is proven.
	f.request.Stack[2] = unwind.Window{Addr: dataBase}
	f.finds(byStubRA, 1, noteIndirect)
}

// TestUndecidable: code with a jump that may lead anywhere is given the benefit
// of the doubt, and so is a call through a register.
func TestUndecidable(t *testing.T) {
	at(t, byTableRA).finds(byTableRA, 1, noteIndirect)
	at(t, pointerRA).finds(pointerRA, 1, noteIndirect)
}

// TestPointer: a pointer that is called through may have changed since, so it
// speaks for a call and never against one.
func TestPointer(t *testing.T) {
	at(t, memoryRA).finds(memoryRA, 1, noteCode)
	f := at(t, memoryRA)
	f.request.Stack[2] = pointers(leafAt, other2At)
	f.finds(memoryRA, 1, noteIndirect)
}

// TestFrameSize: where a call shows the function's entry, the function's own code
// says where the return address is; nearer words are old ones.
func TestFrameSize(t *testing.T) {
	// In mid, behind its call: 24 bytes, then the return address.
	at(t, pointerRA, 0, 0, outerRA, 0).returnTo(midRA).finds(outerRA, 4, noteCode)
	// An old call of mid further out shows it too, though mid was called by pointer.
	at(t, byTableRA, 0, 0, pointerRA, 0, outerRA).returnTo(midRA).finds(pointerRA, 4, noteCode)
	// At the place there is no return address: nothing else is believed.
	at(t, 0, outerRA, 0, 0, 0).returnTo(midRA).findsNone(unwind.StopNoRule, "contradicted by the function's code: 1")
}

// TestOwnCode: the code that comes with the request decides alone.
func TestOwnCode(t *testing.T) {
	own := &unwind.FunctionCode{Start: midAt, Exact: true, Code: image64[midAt-codeBase:][:20]}
	f := at(t, pointerRA, 0, 0, pointerRA, 0).returnTo(midRA)
	f.request.Function = own
	f.finds(pointerRA, 4, noteCode)
	f = at(t, pointerRA, 0, 0, 0, 0).returnTo(midRA)
	f.request.Function = own
	f.findsNone(unwind.StopNoRule, "no return address there leads here")
	f = at(t, blank(40)...)
	f.request.Function = &unwind.FunctionCode{Start: leafAt - 0, Exact: false, Code: image64[:2]}
	f.findsNone(unwind.StopNoRule, "none of 40 words")
}

// TestSwitch: code that a jump table leads to has its frame where the rest of the
// function has, as a rule.
func TestSwitch(t *testing.T) {
	at(t, pointerRA, 0, 0, byTableRA, 0).returnTo(switchRA).withCaller(t, switchAt).finds(byTableRA, 4, noteLikely)
	at(t, pointerRA, 0, 0, 0, 0).returnTo(switchRA).withCaller(t, switchAt).findsNone(unwind.StopNoRule, "no return address there leads here")
}

// TestSavedRegisters: the function's code tells where it saved the caller's.
func TestSavedRegisters(t *testing.T) {
	s := at(t, 0x1b, 0x1c, pointerRA, 0).returnTo(pushesRA).set(unwind.AMD64RBX, 1).set(unwind.AMD64RBP, 2).set(unwind.AMD64R12, 3).
		withCaller(t, pushesAt).finds(pointerRA, 3, noteCode)
	for reg, want := range map[unwind.Register]uint64{unwind.AMD64RBX: 0x1b, unwind.AMD64RBP: 0x1c, unwind.AMD64R12: 3} {
		if v, ok := s.Caller.Get(reg); !ok || v != want {
			t.Errorf("%s = %#x, want %#x", unwind.AMD64.RegisterName(reg), v, want)
		}
	}
	if s.Rule != "cfa=rsp+24; ra=[cfa-8]; fp=[cfa-16]" {
		t.Errorf("rule %q", s.Rule)
	}
}

// withCaller sends the code of the function that the frame is in.
func (f *frame) withCaller(t *testing.T, start uint64) *frame {
	t.Helper()
	f.request.Function = &unwind.FunctionCode{Start: start, Exact: true, Code: image64[start-codeBase:][:64]}
	return f
}

// TestR7FramePointer: how the caller's frame pointer is recovered where the code
// is not known.
func TestR7FramePointer(t *testing.T) {
	const own = stackBase + 8 // below the return address at stackBase+16
	for name, c := range map[string]struct {
		fp, saved uint64
		want      uint64
		rule      string
	}{
		"a record":                    {own, stackBase + 0x100, stackBase + 0x100, "[cfa-16]"},
		"a record that leads down":    {own, stackBase, 0, "undefined"},
		"a record that leads too far": {own, own + 8 + 128<<10 + 8, 0, "undefined"},
		"the caller's still":          {stackBase + 0x40, 0, stackBase + 0x40, "unchanged"},
		"another stack's (R14)":       {0xc000_0001_0000, 0, 0xc000_0001_0000, "unchanged"},
		"within the frame":            {stackBase, 0, 0, "undefined"},
		"a number":                    {1234567, 0, 0, "undefined"},
	} {
		t.Run(name, func(t *testing.T) {
			s := at(t, stackOf([]uint64{0, c.saved, pointerRA}, blank(64))...).returnTo(byTableRA).set(unwind.AMD64RBP, c.fp).finds(pointerRA, 3, noteIndirect)
			v, ok := s.Caller.FP(unwind.AMD64)
			if v != c.want || ok != (c.want != 0) || s.Rule != "cfa=rsp+24; ra=[cfa-8]; fp="+c.rule {
				t.Errorf("rbp %#x (%v), rule %q; want %#x, %s", v, ok, s.Rule, c.want, c.rule)
			}
		})
	}
}

// TestSignalHandler: a handler was not called, and returns to the trampoline.
func TestSignalHandler(t *testing.T) {
	at(t, otherRA, restoreAt).finds(restoreAt, 2, noteSignal)
	f := at(t, otherRA, restoreAt)
	f.delta.OS = "darwin"
	f.findsNone(unwind.StopNoRule, "none of 2 words")
}

// TestAsksForCode: code comes when it is asked for, as little as will do; code
// that is unknown proves nothing.
func TestAsksForCode(t *testing.T) {
	f := at(t, 0, midRA)
	f.request.Stack = f.request.Stack[:1]
	r := f.walk()
	if want := (unwind.Range{Start: midRA - 7, End: codeBase + chunk}); r.Stop != unwind.StopMemory || r.Need != want {
		t.Fatalf("stop %v, need %#x, want %#x", r.Stop, r.Need, want)
	}
	f.request.Stack = append(f.request.Stack, unwind.Window{Addr: r.Need.Start})
	f.findsNone(unwind.StopNoRule, "behind no call: 1")
}

// TestNoEnd: whatever a scan meets, it does not say that the stack ends there.
func TestNoEnd(t *testing.T) {
	at(t).returnTo(8).findsNone(unwind.StopNoRule, "below 4096")
	at(t).findsNone(unwind.StopNoRule, "none of 0 words")
	at(t, 0, 0, 0).findsNone(unwind.StopNoRule, "none of 3 words")
}
