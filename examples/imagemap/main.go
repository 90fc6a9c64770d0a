// Command imagemap captures the image map of its own process and looks up where a
// function lies. It works on Linux.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"reflect"

	"github.com/clewdbg/clew/imagemap"
)

func main() {
	m, err := imagemap.Capture(os.Getpid(), nil)
	if err != nil {
		log.Fatal(err)
	}
	data := m.AppendCIF(nil, imagemap.EncodeOptions{})
	read, err := imagemap.Decode(data, imagemap.DecodeOptions{})
	if err != nil {
		log.Fatal(err)
	}
	pc := uint64(reflect.ValueOf(main).Pointer())
	image, ok := read.Lookup(pc)
	if !ok {
		log.Fatalf("%#x lies in no image", pc)
	}
	fmt.Printf("%d bytes, main lies in %s\n", len(data), filepath.Base(image.Path))
}
