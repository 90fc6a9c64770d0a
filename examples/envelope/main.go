// Command envelope puts a stack and its image map into the JSON object that Swift's
// tools read, and prints it.
package main

import (
	"fmt"
	"log"
	"os"
	"runtime"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/imagemap"
	"github.com/clewdbg/clew/imagemap/envelope"
)

func main() {
	pc, _, _, _ := runtime.Caller(0)
	e := cbf.NewEncoder(nil, cbf.Word64, cbf.EncodeOptions{})
	if err := e.Append(cbf.Frame{Kind: cbf.PC, Address: uint64(pc)}); err != nil {
		log.Fatal(err)
	}
	backtrace, err := e.Finish(cbf.EndMark)
	if err != nil {
		log.Fatal(err)
	}
	images, err := imagemap.Capture(os.Getpid(), nil)
	if err != nil {
		log.Fatal(err)
	}
	line, err := envelope.Marshal(envelope.Envelope{Architecture: "x86_64", Backtrace: backtrace, ImageMap: images.AppendCIF(nil, imagemap.EncodeOptions{})})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", line)
}
