package imagemap_test

import (
	"fmt"

	"github.com/clewdbg/clew/imagemap"
)

// An image map in the Compact ImageMap Format, and a lookup in it.
func Example() {
	m, err := imagemap.New(imagemap.Word64, "Linux (Debian GNU/Linux 12 (bookworm))", []imagemap.Image{
		{Base: 0x7f00_0000_0000, EndOfText: 0x7f00_001a_0000, Path: "/usr/lib/x86_64-linux-gnu/libc.so.6"},
		{Base: 0x40_0000, EndOfText: 0x48_0000, BuildID: []byte{0xca, 0xfe}, Path: "/usr/bin/demo"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	data := m.AppendCIF(nil, imagemap.EncodeOptions{})

	read, err := imagemap.Decode(data, imagemap.DecodeOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, image := range read.All() {
		fmt.Printf("%d: %s at %#x, build ID %q\n", i, image.Name, image.Base, fmt.Sprintf("%x", image.BuildID))
	}
	const address = 0x40_1136
	if image, ok := read.Lookup(address); ok {
		fmt.Printf("%#x is %s + %#x\n", address, image.Name, address-image.Base)
	}
	// Output:
	// 0: demo at 0x400000, build ID "cafe"
	// 1: libc.so.6 at 0x7f0000000000, build ID ""
	// 0x401136 is demo + 0x1136
}

// Damaged data: the images before the damage are read, and the error names its place.
func ExampleDecode_damaged() {
	m, err := imagemap.New(imagemap.Word64, "", []imagemap.Image{
		{Base: 0x40_0000, EndOfText: 0x48_0000, Path: "/usr/bin/demo"},
		{Base: 0x50_0000, EndOfText: 0x58_0000, Path: "/usr/lib/libdemo.so"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	data := m.AppendCIF(nil, imagemap.EncodeOptions{})
	read, err := imagemap.Decode(data[:len(data)-4], imagemap.DecodeOptions{})
	fmt.Println(read.Len(), err)
	// Output:
	// 1 imagemap: offset 37, image 1: data ends too early: path needs 7 bytes, 4 left
}
