package codemodel_test

import (
	"slices"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/unwind"
)

// TestStartsContext compares the known bytes with the C library's, whose makecontext
// refers to them: glibc 2.36, as objdump shows it.
func TestStartsContext(t *testing.T) {
	const base = 0x3f000
	for arch, c := range map[unwind.Arch]struct {
		code  []byte
		at    int
		fixed []int // bytes that no other distance of a jump changes
	}{
		unwind.AMD64: {[]byte{0x90, 0x48, 0x89, 0xdc, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0x85, 0xff, 0x74, 0x08}, 1, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
		unwind.ARM64: {[]byte{
			0x1f, 0x20, 0x03, 0xd5, 0xe0, 0x03, 0x13, 0xaa, // nop; mov x0, x19
			0xc0, 0xf9, 0xff, 0xb5, 0x79, 0xf5, 0xff, 0x17, // cbnz x0, setcontext; b exit
		}, 0, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 15}},
	} {
		for at := range c.code {
			image := flat{base, c.code, nil}
			if got, want := codemodel.StartsContext(arch, base+uint64(at), image.Code), at == c.at; got != want {
				t.Errorf("%v: at +%d: %v", arch, at, got)
			}
		}
		for _, at := range c.fixed {
			image := flat{base, slices.Clone(c.code), nil}
			image.code[at] ^= 0x81
			if codemodel.StartsContext(arch, base+uint64(c.at), image.Code) {
				t.Errorf("%v: other code at +%d", arch, at)
			}
		}
	}
	if codemodel.StartsContext(unwind.ARM64, 2, (&flat{}).Code) || codemodel.StartsContext(unwind.S390X, base, (&flat{}).Code) {
		t.Error("code that is not known starts a context")
	}
}

// TestStartsThread: the end of clone in musl 1.2.3, as objdump shows Debian's libc.so; 1.2.2 and, for amd64, 1.2.5 and
// 1.2.6 have the same bytes.
func TestStartsThread(t *testing.T) {
	const base = 0x77000
	for arch, c := range map[unwind.Arch]struct {
		code []byte
		call int // behind it
	}{
		unwind.AMD64: {[]byte{
			0x0f, 0x05, 0x85, 0xc0, 0x75, 0x0f, // syscall; test %eax,%eax; jne
			0x31, 0xed, 0x5f, 0x41, 0xff, 0xd1, // xor %ebp,%ebp; pop %rdi; call *%r9
			0x89, 0xc7, 0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05, 0xf4, 0xc3, // mov %eax,%edi; xor %eax,%eax; mov $60,%al; syscall; hlt; ret
		}, 12},
		unwind.ARM64: {[]byte{
			0x40, 0x00, 0x00, 0xb4, 0xc0, 0x03, 0x5f, 0xd6, // cbz x0, +8; ret
			0xe1, 0x03, 0xc1, 0xa8, 0x20, 0x00, 0x3f, 0xd6, // ldp x1, x0, [sp], #16; blr x1
			0xa8, 0x0b, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4, // mov x8, #93; svc #0
		}, 16},
	} {
		for at := range c.code {
			image := flat{base, c.code, nil}
			if got, want := codemodel.StartsThread(arch, base+uint64(at), image.Code), at == c.call; got != want {
				t.Errorf("%v: return address at +%d: %v", arch, at, got)
			}
		}
		for _, at := range []int{c.call - 2, c.call + 1} {
			image := flat{base, slices.Clone(c.code), nil}
			image.code[at]++
			if codemodel.StartsThread(arch, base+uint64(c.call), image.Code) {
				t.Errorf("%v: other code at +%d", arch, at)
			}
		}
	}
	if codemodel.StartsThread(unwind.AMD64, 2, (&flat{}).Code) || codemodel.StartsThread(unwind.S390X, base, (&flat{}).Code) {
		t.Error("code that is not known starts a thread")
	}
}
