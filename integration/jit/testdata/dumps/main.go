// Command dumps copies a function of an object file to three places that it generates code
// at, and calls one from the other. It describes them by a jitdump or by a perf map, first as
// what was there before. It writes down the return addresses that the code has recorded.
package main

/*
#include <stdlib.h>

struct record {
	int count;
	void *ra[16];
};

typedef int (*hop_function)(void **next, struct record *r);

extern void called(struct record *r);

static int back(void **next, struct record *r) {
	r->ra[r->count++] = __builtin_return_address(0);
	called(r);
	return 1;
}

static void *address(void) { return back; }
static int run(void *hop, void **next, struct record *r) { return ((hop_function)hop)(next, r); }
*/
import "C"

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

//export called
func called(r *C.struct_record) {
	for _, ra := range r.ra[:r.count] {
		fmt.Printf("%#x\n", uintptr(ra))
	}
	runtime.Breakpoint()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

const copies, apart = 3, 0x100

func main() {
	object := must(elf.Open(os.Args[2]))
	text := must(object.Section(".text").Data())
	memory := must(syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE|syscall.PROT_EXEC, syscall.MAP_ANON|syscall.MAP_PRIVATE))
	base := uint64(uintptr(unsafe.Pointer(&memory[0])))
	for i := range copies {
		copy(memory[i*apart:], text)
	}
	if os.Args[1] == "perf" {
		path := fmt.Sprintf("/tmp/perf-%d.map", os.Getpid())
		if err := os.WriteFile(path, masked(perfMap(base, len(text))), 0o600); err != nil {
			panic(err)
		}
		lengthen(path)
	} else {
		frames := must(object.Section(".eh_frame").Data())
		path := fmt.Sprintf("%s/jit-%d.dump", os.Args[3], os.Getpid())
		if err := os.WriteFile(path, masked(dump(base, text, frames)), 0o600); err != nil {
			panic(err)
		}
		f := must(os.Open(path))
		must(syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_EXEC, syscall.MAP_PRIVATE))
	}
	next := unsafe.Slice((*unsafe.Pointer)(C.calloc(copies, 8)), copies)
	for i := 1; i < copies; i++ {
		next[i-1] = unsafe.Pointer(&memory[i*apart])
	}
	next[copies-1] = C.address()
	C.run(unsafe.Pointer(&memory[0]), &next[0], (*C.struct_record)(C.calloc(1, C.sizeof_struct_record)))
}

// masked changes the bits of a description that the file $DUMPS_MASK has set; what it is shorter by is cut off.
func masked(text []byte) []byte {
	mask, err := os.ReadFile(os.Getenv("DUMPS_MASK"))
	if err != nil {
		return text
	}
	text = text[:min(len(text), len(mask))]
	for i := range text {
		text[i] ^= mask[i]
	}
	return text
}

// lengthen writes $DUMPS_MORE behind a file until that has $DUMPS_MIB.
func lengthen(path string) {
	mib, _ := strconv.Atoi(os.Getenv("DUMPS_MIB"))
	if mib == 0 {
		return
	}
	f := must(os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0))
	more := []byte(os.Getenv("DUMPS_MORE"))
	for piece := bytes.Repeat(more, 1<<20/len(more)); mib > 0; mib-- {
		must(f.Write(piece))
	}
	if err := f.Close(); err != nil {
		panic(err)
	}
}

// perfMap names the copies, whose code has replaced what the first lines name.
func perfMap(base uint64, size int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%x 1000 old code\n%x 10 old start\n", base, base)
	for i := range uint64(copies) {
		fmt.Fprintf(&b, "%x %x hop %d\n", base+i*apart, size, i)
	}
	return b.Bytes()
}

// dump describes the copies: their frames, two lines each, their names.
func dump(base uint64, text, frames []byte) []byte {
	var b bytes.Buffer
	write := func(to *bytes.Buffer, values ...any) {
		for _, v := range values {
			if s, ok := v.(string); ok {
				to.WriteString(s)
			} else if err := binary.Write(to, binary.LittleEndian, v); err != nil {
				panic(err)
			}
		}
	}
	record := func(kind uint32, values ...any) {
		var body bytes.Buffer
		write(&body, values...)
		write(&b, kind, uint32(16+body.Len()), uint64(1), body.Bytes())
	}
	pid, size := uint32(os.Getpid()), uint64(len(text))
	write(&b, uint32(0x4a695444), uint32(1), uint32(40), uint32(62), uint32(0), pid, uint64(1), uint64(0))
	// What was there before had other frames.
	record(4, uint64(4), uint64(0), uint64(0), "\x00\x00\x00\x00")
	record(0, pid, pid, base, base, uint64(4096), uint64(99), "old\x00", bytes.Repeat([]byte{0x90}, 4096))
	for i := range uint64(copies) {
		// The frames lie behind the code, at a multiple of 8.
		own := bytes.Clone(frames)
		fde := 4 + binary.LittleEndian.Uint32(own) // behind the CIE
		binary.LittleEndian.PutUint32(own[fde+8:], uint32(-int32((len(text)+7)&^7)-int32(fde)-8))
		at := base + i*apart
		record(2, at, uint64(2), at, uint32(10*i+1), uint32(0), "gen.src\x00", at+size-8, uint32(10*i+2), uint32(0), "\xff\x00")
		record(4, uint64(len(own)), uint64(0), uint64(len(own)), own)
		record(0, pid, pid, at, at, size, i, fmt.Sprintf("hop%d\x00", i), text)
	}
	return b.Bytes()
}
