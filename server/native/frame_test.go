package native

import (
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// TestFrameSize: beginnings of functions that gcc and clang have written, as objdump shows them.
func TestFrameSize(t *testing.T) {
	for _, c := range []struct {
		arch unwind.Arch
		what string
		code []byte
		want int
	}{
		{unwind.AMD64, "push rbp; mov rbp, rsp", []byte{0x55, 0x48, 0x89, 0xe5}, 4},
		{unwind.AMD64, "endbr64; push rbp; mov rbp, rsp", []byte{0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5}, 8},
		{unwind.AMD64, "lea eax, [rdi+rdi]; ret", []byte{0x8d, 0x04, 0x3f, 0xc3}, 0},
		{unwind.ARM64, "stp x29, x30, [sp, #-48]!; mov x29, sp", code32(0xa9bd7bfd, 0x910003fd), 8},
		{unwind.ARM64, "paciasp; stp x29, x30, [sp, #-48]!; mov x29, sp", code32(0xd503233f, 0xa9bd7bfd, 0x910003fd), 12},
		{unwind.ARM64, "bti c; sub sp, sp, #0x20; str x0, [sp, #8]", code32(0xd503245f, 0xd10083ff, 0xf90007e0), 8},
		{unwind.ARM64, "sub sp, sp, #0x20; str w1, [sp, #4]", code32(0xd10083ff, 0xb90007e1), 4},
		{unwind.ARM64, "sub sp, sp, #0x10; str d0, [sp, #8]", code32(0xd10043ff, 0xfd0007e0), 4},
		{unwind.ARM64, "sub sp, sp, #0x20; stp x29, x30, [sp, #16]; add x29, sp, #0x10", code32(0xd10083ff, 0xa9017bfd, 0x910043fd), 12},
		{unwind.ARM64, "sub sp, sp, #0x20; str w19, [sp, #4]", code32(0xd10083ff, 0xb90007f3), 0},
		{unwind.ARM64, "sub sp, sp, #0x20; ldr w1, [sp, #4]", code32(0xd10083ff, 0xb94007e1), 0},
		{unwind.ARM64, "stp x19, x20, [sp, #-32]!", code32(0xa9be53f3, 0x910003fd), 0},
		{unwind.ARM64, "add w0, w0, w0; ret", code32(0x0b000000, 0xd65f03c0), 0},
		{unwind.ARM64, "nothing", nil, 0},
		{unwind.I386, "anything", code32(0, 0), 0},
	} {
		if got := frameSize(c.arch, c.code); got != c.want {
			t.Errorf("%v, %s: %d", c.arch, c.what, got)
		}
	}
}

func code32(words ...uint32) (code []byte) {
	for _, w := range words {
		code = append(code, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
	}
	return code
}

// TestLeaves: code behind which a prologue cannot end, and code of prologues, as objdump shows it.
func TestLeaves(t *testing.T) {
	for _, c := range []struct {
		arch unwind.Arch
		what string
		code []byte
		want bool
	}{
		{unwind.AMD64, "push rbp; mov rbp, rsp; mov [rbp-4], edi", []byte{0x55, 0x48, 0x89, 0xe5, 0x89, 0x7d, 0xfc}, false},
		{unwind.AMD64, "endbr64; vmovups [rsp], ymm0", []byte{0xf3, 0x0f, 0x1e, 0xfa, 0xc5, 0xfc, 0x11, 0x04, 0x24}, false},
		{unwind.AMD64, "rdpkru, which x86asm does not know", []byte{0x0f, 0x01, 0xee}, false},
		{unwind.AMD64, "push rbp; call", []byte{0x55, 0xe8, 0, 0, 0, 0}, true},
		{unwind.AMD64, "test edi, edi; jle", []byte{0x85, 0xff, 0x7e, 0x10}, true},
		{unwind.AMD64, "jmp *rax", []byte{0xff, 0xe0}, true},
		{unwind.AMD64, "loop", []byte{0xe2, 0xfe}, true},
		{unwind.AMD64, "ret", []byte{0xc3}, true},
		{unwind.ARM64, "stp x29, x30, [sp, #-48]!; mov x29, sp; str w0, [sp, #28]", code32(0xa9bd7bfd, 0x910003fd, 0xb9001fe0), false},
		{unwind.ARM64, "bl", code32(0x94000000), true},
		{unwind.ARM64, "b.lt", code32(0x54fffe6b), true},
		{unwind.ARM64, "cbz x0", code32(0xb4000040), true},
		{unwind.ARM64, "ret", code32(0xd65f03c0), true},
		{unwind.I386, "anything", []byte{0x90}, true},
	} {
		if got := leaves(c.arch, c.code); got != c.want {
			t.Errorf("%v, %s: %v", c.arch, c.what, got)
		}
	}
}
