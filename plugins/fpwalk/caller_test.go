package fpwalk

import (
	"context"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// A caller whose code shows that it keeps no frame pointer is left by what the
// code shows; rbp is some other frame's there. Without the code, or where it
// keeps one, rbp is followed.
func TestCallerWithoutFramePointer(t *testing.T) {
	const start = 0x401000
	noFP := []byte{0x48, 0x83, 0xec, 0x18, 0xe8, 0, 0xff, 0xff, 0xff, 0x48, 0x83, 0xc4, 0x18, 0xc3}     // sub $24,%rsp; call; add; ret
	withFP := []byte{0x55, 0x48, 0x89, 0xe5, 0xe8, 0, 0xff, 0xff, 0xff, 0x5d, 0xc3}                     // push %rbp; mov %rsp,%rbp; call; pop; ret
	table := []byte{0x48, 0x83, 0xec, 0x18, 0xff, 0xe0, 0x90, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x18, 0xc3} // sub $24,%rsp; jmp *%rax; nop; call *%rax; add; ret
	panics := []byte{0x85, 0xff, 0x74, 0x09, 0x48, 0x83, 0xec, 0x18, 0xe8, 0, 0xff, 0xff, 0xff, 0xc3}   // test %edi,%edi; je end; sub $24,%rsp; call panic; end: ret
	stack := stackasm.New(unwind.AMD64, 0x7000_0000)
	stack.Mark("sp").Pad(24).Word(0x402000).Pad(32).Mark("fp").Word(0, 0x403000).Pad(64)
	m, err := stack.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		code   *unwind.FunctionCode
		pc     uint64
		want   uint64 // the caller's return address
		wantFP uint64 // the caller's frame pointer
	}{
		"keeps none":      {&unwind.FunctionCode{Start: start, Exact: true, Code: noFP}, start + 9, 0x402000, m.Addr("fp")},
		"keeps one":       {&unwind.FunctionCode{Start: start, Exact: true, Code: withFP}, start + 9, 0x403000, 0},
		"no way back":     {&unwind.FunctionCode{Start: start, Exact: true, Code: panics}, start + 13, 0x402000, m.Addr("fp")},
		"in a switch":     {&unwind.FunctionCode{Start: start, Exact: true, Code: table}, start + 9, 0x402000, m.Addr("fp")},
		"unknown":         {nil, start + 9, 0x403000, 0},
		"start not exact": {&unwind.FunctionCode{Start: start, Code: noFP}, start + 9, 0x403000, 0},
	} {
		t.Run(name, func(t *testing.T) {
			req := unwind.WalkRequest{Arch: unwind.AMD64, Kind: unwind.KindReturn, Stack: m.Windows(),
				Segment: m.Segment(unwind.SegmentThread), Function: c.code, MaxFrames: 1}
			req.Registers.Set(unwind.AMD64RIP, c.pc)
			req.Registers.Set(unwind.AMD64RSP, m.Addr("sp"))
			req.Registers.Set(unwind.AMD64RBP, m.Addr("fp"))
			results, err := New().Walk(context.Background(), []unwind.WalkRequest{req})
			if err != nil || len(results) != 1 || len(results[0].Steps) != 1 {
				t.Fatalf("%+v, %v", results, err)
			}
			caller := results[0].Steps[0].Caller
			pc, _ := caller.PC(unwind.AMD64)
			fp, _ := caller.FP(unwind.AMD64)
			if pc != c.want || fp != c.wantFP {
				t.Errorf("pc %#x fp %#x, want %#x %#x (%s)", pc, fp, c.want, c.wantFP, results[0].Steps[0].Rule)
			}
		})
	}
}
