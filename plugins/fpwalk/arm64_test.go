package fpwalk

import (
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// TestR6Chain follows records on arm64.
func TestR6Chain(t *testing.T) {
	s := stop(t, unwind.ARM64, twoFrames(unwind.ARM64), behindCall(unwind.ARM64))
	r := s.wants(twoCallers, unwind.StopEnd, endOfChain)
	s.wantStep(r, s.memory.Addr("fp0")+16, ruleARM64, unwind.TrustFramePointer, "")
	if _, known := r.Steps[0].Caller.Get(unwind.ARM64LR); known {
		t.Error("the caller's x30 is known: the call has overwritten it")
	}
}

// The program of the examples: main calls assign, a leaf that moves sp.
const (
	assignAt = 0x1_0000_0724
	mainAt   = 0x1_0000_0750
)

var (
	assign = instructions(
		0xd10043ff, // sub sp, sp, #16
		0x52800500, // mov w0, #40
		0xb9000fe0, // str w0, [sp, #12]
		0xb9400fe0, // ldr w0, [sp, #12]
		0x910043ff, // add sp, sp, #16
		0xd65f03c0, // ret
	)
	mainCode = instructions(
		0xa9be7bfd, // stp x29, x30, [sp, #-32]!
		0x910003fd, // mov x29, sp
		0x97fffff3, // bl assign
		0x52800000, // mov w0, #0
		0xa8c27bfd, // ldp x29, x30, [sp], #32
		0xd65f03c0, // ret
	)
)

// mainStack is the stack of main, called by start, whose record is outermost.
func mainStack() *stackasm.Stack {
	return stackasm.New(unwind.ARM64, 0xef00).Pad(0x30).
		Mark("main").Ref("start").Word(codeBase+0x100).Pad(16).
		Mark("entry").Pad(16).
		Mark("start").Word(0, codeBase+0x200).Pad(16)
}

// TestR6Unchecked: without code x30 is not guessed at; the record is followed,
// with a note.
func TestR6Unchecked(t *testing.T) {
	s := stop(t, unwind.ARM64, mainStack(), stackasm.Values{"pc": num(assignAt), "sp": at("main"), "x29": at("main"), "x30": num(mainAt + 12)}).in(nil)
	r := s.wants(twoCallers, unwind.StopEnd, endOfChain)
	s.wantStep(r, s.memory.Addr("main")+16, ruleARM64, unwind.TrustScan, noteUnchecked)
}

// TestR6ReturnAddress tries the bounds of what a return address may be.
func TestR6ReturnAddress(t *testing.T) {
	for _, tc := range []struct {
		ra   uint64
		stop unwind.WalkStop
	}{
		{0xfff, unwind.StopEnd}, {0x1000, 0}, {0x000f_ffff_ffff_ffff, 0}, {0x0010_0000_0000_0000, unwind.StopBroken},
	} {
		s := stackasm.New(unwind.ARM64, stackBase).Mark("sp").Mark("fp0").Word(0, tc.ra)
		f := stop(t, unwind.ARM64, s, behindCall(unwind.ARM64))
		if tc.stop != 0 {
			f.wants(nil, tc.stop, "return address")
			continue
		}
		f.wants([]uint64{tc.ra}, unwind.StopEnd, endOfChain)
	}
}

// TestR10LinkRegister: x30 is no return address outside the innermost frame.
func TestR10LinkRegister(t *testing.T) {
	regs := behindCall(unwind.ARM64)
	regs["x30"] = num(codeBase + 0x80)
	stop(t, unwind.ARM64, twoFrames(unwind.ARM64), regs).wants(twoCallers, unwind.StopEnd, endOfChain)
}

// TestR11PointerAuthentication strips return addresses, in records and in x30,
// and nothing else.
func TestR11PointerAuthentication(t *testing.T) {
	const mask = 0x007f_0000_0000_0000
	s := stackasm.New(unwind.ARM64, stackBase).
		Mark("sp").Pad(32).
		Mark("fp0").Ref("fp1").Word(codeBase+0x100|0x002a_0000_0000_0000).Pad(32).
		Mark("fp1").Word(0, codeBase+0x200|0x0041_0000_0000_0000)
	f := stop(t, unwind.ARM64, s, behindCall(unwind.ARM64))
	f.wants(nil, unwind.StopBroken, "not an address")
	f.pacMask = mask
	f.wants(twoCallers, unwind.StopEnd, endOfChain)

	regs := behindCall(unwind.ARM64)
	regs["x29"] = at("fp0").Plus(0x0013_0000_0000_0000)
	f = stop(t, unwind.ARM64, s, regs)
	f.pacMask = mask
	f.wants(nil, unwind.StopBroken, "frame pointer")

	amd := stop(t, unwind.AMD64, twoFrames(unwind.AMD64), behindCall(unwind.AMD64))
	amd.pacMask = ^uint64(0) // another target's: amd64 has none
	amd.wants(twoCallers, unwind.StopEnd, endOfChain)
}

// TestR11Upper keeps the upper half of the address space upper (bit 55).
func TestR11Upper(t *testing.T) {
	const mask = 0x7f7f_0000_0000_0000
	for addr, want := range map[uint64]uint64{
		0x002a_0000_0040_1000: 0x40_1000,
		0xa5aa_8000_1234_5678: 0xffff_8000_1234_5678,
		0x40_1000:             0x40_1000,
	} {
		if got := rule.Strip(addr, mask); got != want {
			t.Errorf("%#x is %#x, want %#x", addr, got, want)
		}
	}
	if rule.Strip(0xdead_beef, 0) != 0xdead_beef {
		t.Error("a mask of 0 strips")
	}
}

// TestR12GoRecord: a Go function keeps its record at SP-8, and how far its
// caller's SP lies above is not in it. A C function called from it is left as
// any other; the Go frame is not.
func TestR12GoRecord(t *testing.T) {
	s := stackasm.New(unwind.ARM64, stackBase).Mark("sp").Mark("fp0").Ref("go").Word(codeBase+0x100).Pad(24).
		Mark("go").Word(0, codeBase+0x200).Pad(16)
	stop(t, unwind.ARM64, s, behindCall(unwind.ARM64)).wants(twoCallers[:1], unwind.StopNoRule, "R12")
}

// TestR12RecordAnywhere: on Linux a record is anywhere in its frame. The frame's size is
// in the code; without that the caller's stack pointer is not known, and not guessed. A
// caller is found by the record in any case.
func TestR12RecordAnywhere(t *testing.T) {
	waits := stackasm.Values{"pc": num(mainAt + 12), "sp": at("main"), "x29": at("main")}
	for name, tc := range map[string]struct {
		os       string
		function *unwind.FunctionCode
		regs     stackasm.Values
		cfa      string
		above    int64
		known    bool
	}{
		"the code shows it":   {"linux", &unwind.FunctionCode{Start: mainAt, Exact: true, Code: mainCode}, waits, "entry", 0, true},
		"from x29 alone":      {"linux", &unwind.FunctionCode{Start: mainAt, Exact: true, Code: mainCode}, stackasm.Values{"pc": num(mainAt + 12), "x29": at("main")}, "entry", 0, true},
		"no code":             {"linux", nil, waits, "main", 16, false},
		"a start not certain": {"linux", &unwind.FunctionCode{Start: mainAt, Code: mainCode}, waits, "main", 16, false},
		"Darwin":              {"darwin", nil, waits, "main", 16, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := stop(t, unwind.ARM64, mainStack(), tc.regs)
			s.os, s.request.Function = tc.os, tc.function
			r := s.wants(twoCallers, unwind.StopEnd, endOfChain)
			want := s.memory.Addr(tc.cfa) + uint64(tc.above)
			sp, known := r.Steps[0].Caller.SP(unwind.ARM64)
			if r.Steps[0].CFA != want || known != tc.known || known && sp != want || !known && r.Steps[0].Rule != unknownCFA {
				t.Errorf("CFA %#x, SP %#x (known: %v) by %s; want %#x (%v)", r.Steps[0].CFA, sp, known, r.Steps[0].Rule, want, tc.known)
			}
		})
	}
}
