package envelope_test

import (
	"fmt"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/imagemap/envelope"
)

// A backtrace in the form that Swift programs store and print.
func Example() {
	backtrace, err := cbf.AppendFrames(nil, cbf.Word64, []cbf.Frame{
		{Kind: cbf.PC, Address: 0x401136},
		{Kind: cbf.RA, Address: 0x401150},
	}, cbf.EndMark, cbf.EncodeOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := envelope.Marshal(envelope.Envelope{Architecture: envelope.X86_64, Backtrace: backtrace})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", text)

	read, err := envelope.Unmarshal(text)
	if err != nil {
		fmt.Println(err)
		return
	}
	frames, err := cbf.Decode(read.Backtrace, cbf.DecodeOptions{})
	fmt.Println(read.Architecture, frames.Frames, frames.Complete, err)
	// Output:
	// {"architecture":"x86_64","backtrace":"AhpAETYgGgA"}
	// x86_64 [pc 0x401136 ra 0x401150] true <nil>
}
