package delve

import "testing"

// TestStoresArguments: beginnings of functions that gcc and clang have written, as objdump shows them.
func TestStoresArguments(t *testing.T) {
	for _, c := range []struct {
		arch, what string
		code       []byte
		want       bool
	}{
		{"amd64", "push rbp; mov rbp, rsp", []byte{0x55, 0x48, 0x89, 0xe5}, true},
		{"amd64", "endbr64; push rbp; mov rbp, rsp", []byte{0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5}, true},
		{"amd64", "lea eax, [rdi+rdi]; ret", []byte{0x8d, 0x04, 0x3f, 0xc3}, false},
		{"arm64", "stp x29, x30, [sp, #-48]!; mov x29, sp", words32(0xa9bd7bfd, 0x910003fd), true},
		{"arm64", "paciasp; stp x29, x30, [sp, #-48]!; mov x29, sp", words32(0xd503233f, 0xa9bd7bfd, 0x910003fd), true},
		{"arm64", "bti c; sub sp, sp, #0x20; str x0, [sp, #8]", words32(0xd503245f, 0xd10083ff, 0xf90007e0), true},
		{"arm64", "sub sp, sp, #0x20; str w1, [sp, #4]", words32(0xd10083ff, 0xb90007e1), true},
		{"arm64", "sub sp, sp, #0x10; str d0, [sp, #8]", words32(0xd10043ff, 0xfd0007e0), true},
		{"arm64", "sub sp, sp, #0x20; stp x29, x30, [sp, #16]; add x29, sp, #0x10", words32(0xd10083ff, 0xa9017bfd, 0x910043fd), true},
		{"arm64", "sub sp, sp, #0x20; str w19, [sp, #4]", words32(0xd10083ff, 0xb90007f3), false},
		{"arm64", "sub sp, sp, #0x20; ldr w1, [sp, #4]", words32(0xd10083ff, 0xb94007e1), false},
		{"arm64", "stp x19, x20, [sp, #-32]!", words32(0xa9be53f3, 0x910003fd), false},
		{"arm64", "add w0, w0, w0; ret", words32(0x0b000000, 0xd65f03c0), false},
		{"arm64", "nothing", nil, false},
		{"riscv64", "anything", words32(0, 0), false},
	} {
		if got := storesArguments(c.arch, c.code); got != c.want {
			t.Errorf("%s, %s: %v", c.arch, c.what, got)
		}
	}
}

func words32(words ...uint32) (code []byte) {
	for _, w := range words {
		code = append(code, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
	}
	return code
}
