package codemodel

import (
	"bytes"
	"encoding/binary"

	"github.com/clewdbg/clew/unwind"
)

// Code of C libraries that has no caller, known by its bytes where it has neither a name nor tables.

// contextStart begins glibc's __start_context on amd64: mov %rbx,%rsp; mov (%rsp),%rdi; test
// %rdi,%rdi; je.
var contextStart = []byte{0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85, 0xff, 0x74}

// StartsContext reports whether an address is that to which the first function of a context
// returns that makecontext has made (glibc). The function code returns bytes at an address, fewer than
// asked for where there are none.
func StartsContext(arch unwind.Arch, at uint64, code func(addr uint64, n int) []byte) bool {
	switch arch {
	case unwind.AMD64:
		return bytes.HasPrefix(code(at, len(contextStart)), contextStart)
	case unwind.ARM64:
		return startsContextARM64(code(at, 16))
	}
	return false
}

// startsContextARM64 recognises glibc's __startcontext: nop, or bti c where glibc is built with landing pads; mov
// x0, x19; cbnz x0, setcontext, which lies before it; b exit.
func startsContextARM64(code []byte) bool {
	if len(code) < 16 {
		return false
	}
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(code[4*i:]) }
	return (word(0) == 0xd503201f || word(0) == 0xd503245f) && word(1) == 0xaa1303e0 && word(2)&0xff80001f == 0xb5800000 && word(3)>>26 == 5
}

// threadStart is what a new thread does first in musl's clone: it takes its first function and the argument from its
// stack, calls the function, and exits. It has no caller: the stack begins there.
type threadStart struct {
	code []byte
	call int // size of code up to the return address
}

// threadStarts are musl's (src/thread/x86_64/clone.s, src/thread/aarch64/clone.s).
var threadStarts = map[unwind.Arch]threadStart{
	// xor %ebp,%ebp; pop %rdi; call *%r9; mov %eax,%edi; xor %eax,%eax; mov $60,%al; syscall
	unwind.AMD64: {[]byte{0x31, 0xed, 0x5f, 0x41, 0xff, 0xd1, 0x89, 0xc7, 0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05}, 6},
	// ldp x1, x0, [sp], #16; blr x1; mov x8, #93; svc #0
	unwind.ARM64: {[]byte{0xe1, 0x03, 0xc1, 0xa8, 0x20, 0x00, 0x3f, 0xd6, 0xa8, 0x0b, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4}, 8},
}

// StartsThread reports whether a return address is that of a thread's first function in musl's clone. The
// function code returns bytes at an address, fewer than asked for where there are none.
func StartsThread(arch unwind.Arch, ra uint64, code func(addr uint64, n int) []byte) bool {
	start, known := threadStarts[arch]
	return known && ra >= uint64(start.call) && bytes.Equal(code(ra-uint64(start.call), len(start.code)), start.code)
}
