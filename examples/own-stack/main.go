// Command own-stack writes its own stack, as Go knows it, as CBF with its image map: a
// program that logs stacks in 4 bytes a frame. clew decode gives them names later.
package main

import (
	"log"
	"os"
	"runtime"

	"github.com/clewdbg/clew/cbf"
	"github.com/clewdbg/clew/imagemap"
)

//go:noinline
func handle() {
	pcs := make([]uintptr, 64)
	pcs = pcs[:runtime.Callers(1, pcs)] // return addresses, and of handle itself what a call would return to
	e := cbf.NewEncoder(nil, cbf.Word64, cbf.EncodeOptions{})
	for _, pc := range pcs {
		if err := e.Append(cbf.Frame{Kind: cbf.RA, Address: uint64(pc)}); err != nil {
			log.Fatal(err)
		}
	}
	data, err := e.Finish(cbf.EndMark)
	if err != nil {
		log.Fatal(err)
	}
	images, err := imagemap.Capture(os.Getpid(), nil)
	if err != nil {
		log.Fatal(err)
	}
	for name, data := range map[string][]byte{"own.cbf": data, "own.cif": images.AppendCIF(nil, imagemap.EncodeOptions{})} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			log.Fatal(err)
		}
	}
}

func main() { handle() }
