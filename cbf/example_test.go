package cbf_test

import (
	"fmt"

	"github.com/clewdbg/clew/cbf"
)

func Example() {
	e := cbf.NewEncoder(make([]byte, 0, 64), cbf.Word64, cbf.EncodeOptions{})
	for _, f := range []cbf.Frame{
		{Kind: cbf.PC, Address: 0x401136},
		{Kind: cbf.RA, Address: 0x401150},
		{Kind: cbf.RA, Address: 0x401150},
		{Kind: cbf.Omitted, Count: 40},
	} {
		if err := e.Append(f); err != nil {
			fmt.Println(err)
			return
		}
	}
	data, err := e.Finish(cbf.EndMark)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("% x\n", data)

	d := cbf.NewDecoder(data, cbf.DecodeOptions{})
	for frame, err := range d.All() {
		fmt.Println(frame, err)
	}
	fmt.Println("complete:", d.Complete())
	// Output:
	// 02 1a 40 11 36 20 1a 80 60 28 00
	// pc 0x401136 <nil>
	// ra 0x401150 <nil>
	// ra 0x401150 <nil>
	// omit 40 <nil>
	// complete: true
}

// Damaged data: the frames before the damage are read, and the error names its place.
func ExampleDecode() {
	backtrace, err := cbf.Decode([]byte{0x02, 0x1a, 0x40, 0x11, 0x36, 0x20, 0x1a, 0xff, 0xff}, cbf.DecodeOptions{})
	for _, frame := range backtrace.Frames {
		fmt.Println(frame)
	}
	fmt.Println("complete:", backtrace.Complete)
	fmt.Println(err)
	// Output:
	// pc 0x401136
	// ra 0x401150
	// complete: false
	// cbf: offset 7: unknown instruction 0xff
}
