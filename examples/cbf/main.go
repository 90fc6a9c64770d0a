// Command cbf writes a stack in the Compact Backtrace Format and reads it back.
package main

import (
	"fmt"
	"log"

	"github.com/clewdbg/clew/cbf"
)

func main() {
	e := cbf.NewEncoder(nil, cbf.Word64, cbf.EncodeOptions{})
	frames := []cbf.Frame{
		{Kind: cbf.PC, Address: 0x48aa16}, // the innermost frame: an instruction
		{Kind: cbf.RA, Address: 0x48a9a4}, // all others: return addresses
		{Kind: cbf.RA, Address: 0x47dd84},
	}
	for _, f := range frames {
		if err := e.Append(f); err != nil {
			log.Fatal(err)
		}
	}
	data, err := e.Finish(cbf.EndMark)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d bytes: % x\n", len(data), data)

	backtrace, err := cbf.Decode(data, cbf.DecodeOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range backtrace.Frames {
		fmt.Println(f)
	}
	fmt.Println("complete:", backtrace.Complete)
}
