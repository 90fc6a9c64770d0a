package rule_test

import (
	"fmt"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/rule"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// A function has pushed rbx and moved its stack pointer by 16 bytes. The rule says
// where its caller is.
func ExampleRule_Apply() {
	r := rule.Rule{
		Arch: unwind.AMD64, Kept: true,
		CFA: rule.In(unwind.AMD64RSP, 32), RA: rule.AtCFA(-8), FP: rule.Value{From: rule.Same},
		Saved: []rule.Saved{{Register: unwind.AMD64RBX, Value: rule.AtCFA(-16)}},
	}
	fmt.Println(r.String())

	m, err := stackasm.New(unwind.AMD64, 0x7fff_0000_0000).Mark("sp").Pad(16).Word(7, 0x40_1234).Assemble()
	if err != nil {
		panic(err)
	}
	regs, err := m.Registers(unwind.AMD64, stackasm.Values{"rsp": stackasm.At("sp")})
	if err != nil {
		panic(err)
	}
	frame := rule.Frame{Registers: &regs, Memory: m.Windows(), Segment: m.Segment(unwind.SegmentThread)}
	var caller rule.Caller
	if err := r.Apply(&frame, &caller); err != nil {
		panic(err)
	}
	pc, _ := caller.Registers.PC(unwind.AMD64)
	rbx, _ := caller.Registers.Get(unwind.AMD64RBX)
	fmt.Printf("pc=%#x cfa=%#x rbx=%d\n", pc, caller.CFA, rbx)
	fmt.Println(frame.CheckStack(unwind.AMD64, &caller))
	// Output:
	// cfa=rsp+32; ra=[cfa-8]; fp=unchanged
	// pc=0x401234 cfa=0x7fff00000020 rbx=7
	// <nil>
}

func ExampleRule_Equal() {
	table, code := rule.FramePointer(unwind.AMD64), rule.FramePointer(unwind.AMD64)
	code.CFA = rule.In(unwind.AMD64RSP, 48)
	fmt.Println(table.Equal(&code), table.EqualPlaces(&code))
	// Output: false true
}
