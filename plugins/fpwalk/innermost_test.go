package fpwalk

import (
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// framed is a C function with a frame pointer and a saved rbx:
//
//	0 push rbp; 1 mov rbp,rsp; 4 push rbx; 5 sub rsp,24; 9 xor ebx,ebx; 11 mov rbx,[rbp-8]; 15 leave; 16 ret
var framed = []byte{0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x83, 0xec, 0x18, 0x31, 0xdb, 0x48, 0x8b, 0x5d, 0xf8, 0xc9, 0xc3}

// leaf is lea eax,[rdi+rdi]; ret.
var leaf = []byte{0x8d, 0x04, 0x3f, 0xc3}

func function(code []byte) *unwind.FunctionCode {
	return &unwind.FunctionCode{Start: codeBase, Exact: true, Code: code}
}

// calling is a stack whose innermost frame was called by one with the record
// caller; "cfa" is the innermost frame's CFA. Its own record lies where framed
// puts it.
func calling() *stackasm.Stack {
	return stackasm.New(unwind.AMD64, stackBase).
		Pad(64).
		Mark("rbx").Word(0xb0b).
		Mark("own").Ref("caller").Word(codeBase+0x100). // pushed rbp, return address
		Mark("cfa").Pad(32).
		Mark("caller").Word(0, codeBase+0x200).Pad(16)
}

// TestR4Innermost stops at every kind of place in functions with and without a
// frame. Following rbp would lose the caller at the first, second and last.
func TestR4Innermost(t *testing.T) {
	for _, tc := range []struct {
		name     string
		code     []byte
		offset   uint64
		rsp, rbp stackasm.Value
		rule     string
		rbx      uint64 // the caller's
	}{
		{"entry", framed, 0, at("cfa").Plus(-8), at("caller"), "cfa=rsp+8; ra=[cfa-8]; fp=unchanged", 7},
		{"rbp pushed", framed, 1, at("cfa").Plus(-16), at("caller"), "cfa=rsp+16; ra=[cfa-8]; fp=", 7},
		{"frame set up", framed, 4, at("own"), at("own"), ruleAMD64, 7},
		{"body", framed, 11, at("own").Plus(-32), at("own"), ruleAMD64, 0xb0b},
		{"before ret", framed, 16, at("cfa").Plus(-8), at("caller"), "cfa=rsp+8; ra=[cfa-8]; fp=unchanged", 7},
		{"leaf", leaf, 3, at("cfa").Plus(-8), at("caller"), "cfa=rsp+8; ra=[cfa-8]; fp=unchanged", 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := stop(t, unwind.AMD64, calling(), stackasm.Values{"rip": num(codeBase + tc.offset), "rsp": tc.rsp, "rbp": tc.rbp,
				"rbx": num(7), "r12": num(12), "rax": num(1)}).in(function(tc.code))
			r := s.wants(twoCallers, unwind.StopEnd, endOfChain)
			rule := tc.rule
			if strings.HasSuffix(rule, "fp=") && strings.HasPrefix(r.Steps[0].Rule, rule) {
				rule = r.Steps[0].Rule // rbp is in its register and on the stack: either is right
			}
			s.wantStep(r, s.memory.Addr("cfa"), rule, unwind.TrustFramePointer, "")
			caller := &r.Steps[0].Caller
			if fp, _ := caller.FP(unwind.AMD64); fp != s.memory.Addr("caller") {
				t.Errorf("caller's rbp %#x", fp)
			}
			rbx, _ := caller.Get(unwind.AMD64RBX)
			r12, _ := caller.Get(unwind.AMD64R12)
			if _, rax := caller.Get(0); rbx != tc.rbx || r12 != 12 || rax {
				t.Errorf("caller's rbx %#x, r12 %#x, rax known: %v", rbx, r12, rax)
			}
			if n := r.Steps[1].Caller.Len(); n != 3 {
				t.Errorf("%d registers known two frames up", n)
			}
		})
	}
}

// TestR4InnermostUnchecked: without the function's code rbp is followed, and
// the step says that this may have lost the caller (as it does here).
func TestR4InnermostUnchecked(t *testing.T) {
	for _, f := range []*unwind.FunctionCode{nil, {Start: codeBase, Exact: true}, function([]byte{0x90})} {
		s := stop(t, unwind.AMD64, calling(), stackasm.Values{"rip": num(codeBase + 1), "rsp": at("cfa").Plus(-16), "rbp": at("caller")}).in(f)
		r := s.wants(twoCallers[1:], unwind.StopEnd, endOfChain)
		s.wantStep(r, s.memory.Addr("caller")+16, ruleAMD64, unwind.TrustScan, noteUnchecked)
	}
}

// TestR8UncheckedIsNoEnd: a frame pointer or return address of 0 ends nothing
// where it is not known to be one.
func TestR8UncheckedIsNoEnd(t *testing.T) {
	regs := stackasm.Values{"rip": num(codeBase), "rsp": at("cfa"), "rbp": num(0)}
	stop(t, unwind.AMD64, calling(), regs).in(nil).wants(nil, unwind.StopNoRule, "could not be checked")
	regs["rbp"] = at("zero")
	zero := stackasm.New(unwind.AMD64, stackBase).Mark("cfa").Pad(8).Mark("zero").Pad(64)
	stop(t, unwind.AMD64, zero, regs).in(nil).wants(nil, unwind.StopBroken, "below 4096")
}

// TestR4InnermostInexactStart: the rule may be another function's.
func TestR4InnermostInexactStart(t *testing.T) {
	f := function(framed)
	f.Exact = false
	s := stop(t, unwind.AMD64, calling(), stackasm.Values{"rip": num(codeBase), "rsp": at("cfa").Plus(-8), "rbp": at("caller")}).in(f)
	r := s.wants(twoCallers, unwind.StopEnd, endOfChain)
	s.wantStep(r, s.memory.Addr("cfa"), "cfa=rsp+8; ra=[cfa-8]; fp=unchanged", unwind.TrustScan, noteInexact)
}

// TestR4InnermostJumpTable stops where only an indirect jump leads: the frame
// is the one at the jump, likely.
//
//	0 push rbp; 1 mov rbp,rsp; 4 jmp rax; 6 xor eax,eax; 8 pop rbp; 9 ret
func TestR4InnermostJumpTable(t *testing.T) {
	f := function([]byte{0x55, 0x48, 0x89, 0xe5, 0xff, 0xe0, 0x31, 0xc0, 0x5d, 0xc3})
	s := stop(t, unwind.AMD64, calling(), stackasm.Values{"rip": num(codeBase + 8), "rsp": at("own"), "rbp": at("own")}).in(f)
	r := s.wants(twoCallers, unwind.StopEnd, endOfChain)
	s.wantStep(r, s.memory.Addr("cfa"), ruleAMD64, unwind.TrustFramePointer, noteLikely)
}

// TestR8InnermostEnd: a thread's first function, called from nowhere.
func TestR8InnermostEnd(t *testing.T) {
	s := stackasm.New(unwind.AMD64, stackBase).Mark("sp").Word(0).Pad(32)
	regs := stackasm.Values{"rip": num(codeBase), "rsp": at("sp"), "rbp": num(0)}
	stop(t, unwind.AMD64, s, regs).in(function(framed)).wants(nil, unwind.StopEnd, "below 4096")
}

// TestR10Innermost: the rule leads to an impossible CFA.
func TestR10Innermost(t *testing.T) {
	body := codeBase + uint64(11)
	for _, tc := range []struct {
		rbp    stackasm.Value
		stop   unwind.WalkStop
		reason string
	}{
		{at("own").Plus(-48), unwind.StopBroken, "above the stack pointer"},
		{at("own").Plus(4), unwind.StopBroken, "multiple of 8"},
		{num(0x5000), unwind.StopMemory, ""},
		{num(^uint64(0) - 7), unwind.StopBroken, "is no address"},
	} {
		regs := stackasm.Values{"rip": num(body), "rsp": at("own").Plus(-32), "rbp": tc.rbp}
		stop(t, unwind.AMD64, calling(), regs).in(function(framed)).wants(nil, tc.stop, tc.reason)
	}
	s := stop(t, unwind.AMD64, calling(), stackasm.Values{"rip": num(body), "rsp": at("own").Plus(-32)})
	s.in(function(framed)).wants(nil, unwind.StopNoRule, "rbp, which is not known")
}

// TestR13GoFunction stops in a Go function: before its frame is set up, in the
// body, and on the way into morestack.
//
//	0 cmp rsp,[r14+16]; 4 jbe 18; 6 push rbp; 7 mov rbp,rsp; 10 sub rsp,16; 14 add rsp,16... 18 call morestack; jmp 0
var goFunction = []byte{
	0x49, 0x3b, 0x66, 0x10, 0x76, 0x11, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10,
	0x90, 0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3, 0x90, 0x90,
	0xe8, 0x00, 0x10, 0x00, 0x00, 0xeb, 0xe2,
}

func TestR13GoFunction(t *testing.T) {
	for _, tc := range []struct {
		offset   uint64
		rsp, rbp stackasm.Value
	}{
		{0, at("cfa").Plus(-8), at("caller")},
		{4, at("cfa").Plus(-8), at("caller")},
		{7, at("own"), at("caller")},
		{10, at("own"), at("own")},
		{14, at("own").Plus(-16), at("own")},
		{19, at("own"), at("own")},
		{20, at("cfa").Plus(-8), at("caller")},
		{23, at("cfa").Plus(-8), at("caller")},
		{28, at("cfa").Plus(-8), at("caller")},
	} {
		s := stop(t, unwind.AMD64, calling(), stackasm.Values{"rip": num(codeBase + tc.offset), "rsp": tc.rsp, "rbp": tc.rbp})
		r := s.in(function(goFunction)).wants(twoCallers, unwind.StopEnd, endOfChain)
		if r.Steps[0].CFA != s.memory.Addr("cfa") {
			t.Errorf("at %d: CFA %#x by %s", tc.offset, r.Steps[0].CFA, r.Steps[0].Rule)
		}
	}
}

// TestCallThroughNull: the program called a null pointer. The caller's address
// is where a call leaves it.
func TestCallThroughNull(t *testing.T) {
	s := stop(t, unwind.AMD64, calling(), stackasm.Values{"rip": num(0), "rsp": at("cfa").Plus(-8), "rbp": at("caller"), "rbx": num(3)}).in(nil)
	r := s.wants(twoCallers, unwind.StopEnd, endOfChain)
	s.wantStep(r, s.memory.Addr("cfa"), "cfa=rsp+8; ra=[cfa-8]; fp=unchanged", unwind.TrustScan, noteNowhere)

	a := stop(t, unwind.ARM64, twoFrames(unwind.ARM64), stackasm.Values{"pc": num(0), "sp": at("sp"), "x29": at("fp0"), "x30": num(codeBase + 0x80)}).in(nil)
	r = a.wants([]uint64{codeBase + 0x80, codeBase + 0x100, codeBase + 0x200}, unwind.StopEnd, endOfChain)
	a.wantStep(r, a.memory.Addr("sp"), "cfa=sp; ra=x30; fp=unchanged", unwind.TrustScan, noteNowhere)
}
