package unwind_test

import (
	"fmt"

	"github.com/clewdbg/clew/unwind"
)

// A return address is looked up inside the call before it: the call may be the last
// instruction of its function.
func ExampleCodeAddr_Lookup() {
	ra := unwind.Code(0x40_1000, unwind.KindReturn)
	fmt.Printf("%#x %#x\n", ra.Lookup(unwind.AMD64), ra.Lookup(unwind.ARM64))
	pc := unwind.Code(0x40_1000, unwind.KindInstruction)
	fmt.Printf("%#x\n", pc.Lookup(unwind.AMD64))
	// Output:
	// 0x400fff 0x400ffc
	// 0x401000
}

// A register that is not known is absent, never zero.
func ExampleRegisters() {
	var regs unwind.Registers
	regs.Set(unwind.AMD64RSP, 0x7fff_0000)
	_, known := regs.FP(unwind.AMD64)
	fmt.Println(regs.Len(), known)
	for reg, value := range regs.All() {
		fmt.Printf("%s=%#x\n", unwind.AMD64.RegisterName(reg), value)
	}
	// Output:
	// 1 false
	// rsp=0x7fff0000
}

func ExampleNewRangeSet() {
	code := unwind.NewRangeSet(unwind.Range{Start: 0x2000, End: 0x3000}, unwind.Range{Start: 0x1000, End: 0x2000}, unwind.Range{Start: 0x5000, End: 0x6000})
	r, ok := code.Find(0x2fff)
	fmt.Printf("%d %#x %v\n", len(code), r, ok)
	fmt.Printf("%#x\n", code.Gaps(unwind.Range{Start: 0x1000, End: 0x6000}))
	// Output:
	// 2 {0x1000 0x3000} true
	// [{0x3000 0x5000}]
}

func ExampleArch_Canonical() {
	fmt.Println(unwind.AMD64.Canonical(0x7fff_ffff_ffff), unwind.AMD64.Canonical(0x8000_0000_0000), unwind.AMD64.Canonical(0xffff_8000_0000_0000))
	// Output: true false true
}
