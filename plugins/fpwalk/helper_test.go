package fpwalk

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// The rules of a step along the chain.
const (
	ruleAMD64 = "cfa=rbp+16; ra=[cfa-8]; fp=[cfa-16]"
	ruleARM64 = "cfa=x29+16; ra=[cfa-8]; fp=[cfa-16]"
)

const (
	stackBase = 0x7ffd_0000_0000
	codeBase  = 0x40_0000
)

// at and num shorten register files.
var (
	at  = stackasm.At
	num = stackasm.Num
)

// stopped is a frame to be walked from.
type stopped struct {
	*testing.T
	memory  *stackasm.Memory
	request unwind.WalkRequest
	pacMask uint64
	os      string
	yield   unwind.RangeSet
}

// stop assembles a stack and the request to walk from a frame on it; the frame
// is stopped behind a call, with all memory, its segment and a limit of 100.
func stop(t *testing.T, arch unwind.Arch, s *stackasm.Stack, regs stackasm.Values) *stopped {
	t.Helper()
	m, err := s.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Registers(arch, regs)
	if err != nil {
		t.Fatal(err)
	}
	return &stopped{T: t, memory: m, request: unwind.WalkRequest{Arch: arch, Registers: r, Kind: unwind.KindReturn,
		Segment: m.Segment(unwind.SegmentThread), Stack: m.Windows(), MaxFrames: 100, AllRegisters: true}}
}

// in makes the frame an innermost one, stopped in a function.
func (s *stopped) in(f *unwind.FunctionCode) *stopped {
	s.request.Kind = unwind.KindInstruction
	s.request.Function = f
	return s
}

func (s *stopped) walk() unwind.WalkResult {
	s.Helper()
	u := New()
	if _, err := u.Update(context.Background(), unwind.ImageDelta{Arch: s.request.Arch, OS: s.os, PACMask: s.pacMask}); err != nil {
		s.Fatal(err)
	}
	if err := u.Yield(context.Background(), s.yield); err != nil {
		s.Fatal(err)
	}
	results, err := u.Walk(context.Background(), []unwind.WalkRequest{s.request})
	if err != nil || len(results) != 1 {
		s.Fatalf("%d results, %v", len(results), err)
	}
	return results[0]
}

// wants walks, and compares the callers, the reason for stopping and a part of
// its text.
func (s *stopped) wants(callers []uint64, stop unwind.WalkStop, reason string) unwind.WalkResult {
	s.Helper()
	r := s.walk()
	if len(r.Steps) != len(callers) {
		s.Fatalf("%d steps, want %d; stop %v %q", len(r.Steps), len(callers), r.Stop, r.Reason)
	}
	for i, want := range callers {
		if pc, _ := r.Steps[i].Caller.PC(s.request.Arch); pc != want {
			s.Errorf("caller %d at %#x, want %#x", i, pc, want)
		}
	}
	if r.Stop != stop || !strings.Contains(r.Reason, reason) {
		s.Errorf("stop %v %q, want %v %q", r.Stop, r.Reason, stop, reason)
	}
	return r
}

// wantStep compares the first step.
func (s *stopped) wantStep(r unwind.WalkResult, cfa uint64, rule string, trust unwind.Trust, note string) {
	s.Helper()
	if len(r.Steps) == 0 {
		s.Fatalf("no steps; stop %v %q", r.Stop, r.Reason)
	}
	step := &r.Steps[0]
	if step.CFA != cfa || step.Rule != rule || step.Trust != trust || !strings.Contains(step.Note, note) || (note == "") != (step.Note == "") {
		s.Errorf("step cfa=%#x rule %q trust %v note %q,\nwant cfa=%#x rule %q trust %v note %q",
			step.CFA, step.Rule, step.Trust, step.Note, cfa, rule, trust, note)
	}
	if step.CallerKind != unwind.KindReturn {
		s.Errorf("the caller's PC is %v", step.CallerKind)
	}
	if sp, ok := step.Caller.SP(s.request.Arch); !ok || sp != cfa {
		s.Errorf("the caller's SP is %#x, want %#x", sp, cfa)
	}
}

// instructions are arm64 instructions as code.
func instructions(words ...uint32) []byte {
	var p []byte
	for _, w := range words {
		p = binary.LittleEndian.AppendUint32(p, w)
	}
	return p
}

// twoFrames is a stack of two records, the outer one the end of the chain.
func twoFrames(arch unwind.Arch) *stackasm.Stack {
	return stackasm.New(arch, stackBase).
		Mark("sp").Pad(32).
		Mark("fp0").Ref("fp1").Word(codeBase+0x100).Pad(32).
		Mark("fp1").Word(0, codeBase+0x200).Pad(16)
}

// behindCall are the registers of a frame on twoFrames.
func behindCall(arch unwind.Arch) stackasm.Values {
	if arch == unwind.ARM64 {
		return stackasm.Values{"pc": num(codeBase), "sp": at("sp"), "x29": at("fp0")}
	}
	return stackasm.Values{"rip": num(codeBase), "rsp": at("sp"), "rbp": at("fp0")}
}

var twoCallers = []uint64{codeBase + 0x100, codeBase + 0x200}

const endOfChain = "end of the chain"
