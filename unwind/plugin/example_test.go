package plugin_test

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/plugin"
	"github.com/clewdbg/clew/unwind/plugin/example/framechain"
)

// A plugin's main function. Folder example holds it as a program.
func ExampleServe() {
	main := func() { plugin.Serve(&framechain.Unwinder{}) }
	_ = main // is run by clew, not by hand
}

// An unwinder is a plain value and can be tried without any process.
func Example() {
	stack := binary.LittleEndian.AppendUint64(nil, 0x7010)   // at 0x7000: the caller's frame pointer
	stack = binary.LittleEndian.AppendUint64(stack, 0x40100) // and its return address
	stack = binary.LittleEndian.AppendUint64(stack, 0)
	stack = binary.LittleEndian.AppendUint64(stack, 0x40200)
	request := unwind.WalkRequest{
		Arch: unwind.AMD64, Kind: unwind.KindInstruction, MaxFrames: 10,
		Stack: unwind.Windows{{Addr: 0x7000, Data: stack}},
	}
	request.Registers.Set(unwind.AMD64RIP, 0x40000)
	request.Registers.Set(unwind.AMD64RSP, 0x7000)
	request.Registers.Set(unwind.AMD64RBP, 0x7000)

	results, err := new(framechain.Unwinder).Walk(context.Background(), []unwind.WalkRequest{request})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, step := range results[0].Steps {
		pc, _ := step.Caller.PC(unwind.AMD64)
		fmt.Printf("cfa %#x, return address %#x, %s\n", step.CFA, pc, step.Trust)
	}
	fmt.Println(results[0].Stop, "-", results[0].Reason)
	// Output:
	// cfa 0x7010, return address 0x40100, frame-pointer
	// cfa 0x7020, return address 0x40200, frame-pointer
	// end - the frame pointer is 0
}
