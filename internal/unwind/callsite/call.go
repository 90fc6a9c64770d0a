package callsite

import (
	"bytes"

	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
)

// Longest is the longest call that matters, in bytes, without prefixes, which
// change nothing: amd64's FF /2 with an index and a 32-bit displacement.
const Longest = 7

// Call is a call instruction.
type Call struct {
	Direct bool
	Target uint64 // where Direct
	// Pointer is where an indirect call reads its target from, 0 if that is not a
	// fixed address.
	Pointer uint64
}

var amd64Forms, arm64Forms = []int{5, 2, 3, 4, 6, 7}, []int{4}

// forms returns the lengths that calls can have, the direct form first; nil on an
// architecture that is not decoded.
func forms(arch unwind.Arch) []int {
	switch arch {
	case unwind.AMD64:
		return amd64Forms
	case unwind.ARM64:
		return arm64Forms
	}
	return nil
}

// Before returns the calls that the bytes before end can be: code holds original
// bytes, the last of which lies at end-1. On amd64 there may be more than one,
// since instructions have no marked beginning; none means that end is no return
// address. known is false on an architecture whose calls are not decoded: then
// nothing is known of end (R17).
func Before(arch unwind.Arch, code []byte, end uint64) (calls []Call, known bool) {
	lengths := forms(arch)
	var d prologue.Decoder
	for _, n := range lengths {
		if n > len(code) || end < uint64(n) {
			continue
		}
		src := code[len(code)-n:]
		if arch == unwind.AMD64 && src[0] != 0xe8 && src[0] != 0xff {
			continue // a prefix: the shorter form was or will be looked at
		}
		in := d.For(arch, src, end-uint64(n))
		switch {
		case in.Len != n:
		case in.Flow == prologue.FlowCall:
			calls = append(calls, Call{Direct: true, Target: in.Target})
		case in.Flow == prologue.FlowCallIndirect:
			calls = append(calls, Call{Pointer: in.Pointer})
		}
	}
	return calls, lengths != nil
}

// A signal handler returns to a few instructions that ask the kernel to restore
// the interrupted context (rt_sigreturn). No call led there. The instructions are
// the same in every libc and in Go's runtime, and gdb, libgcc and libunwind all
// know the frame by them.
var sigreturn = map[unwind.Arch][]byte{
	unwind.AMD64: {
		0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, // mov $15, %rax
		0x0f, 0x05, // syscall
	},
	unwind.ARM64: {
		0x68, 0x11, 0x80, 0xd2, // mov x8, #139
		0x01, 0x00, 0x00, 0xd4, // svc #0
	},
}

// SignalReturnSize is the number of bytes that [IsSignalReturn] needs.
const SignalReturnSize = 9

// IsSignalReturn reports whether code is that to which Linux's signal handlers
// return.
func IsSignalReturn(arch unwind.Arch, code []byte) bool {
	want := sigreturn[arch]
	return len(want) > 0 && bytes.HasPrefix(code, want)
}
