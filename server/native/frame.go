package native

import (
	"bytes"
	"encoding/binary"

	"github.com/clewdbg/clew/unwind"
)

// framePrologue is how a function of C's begins that sets up a frame pointer, on amd64.
var framePrologue = []byte{0x55, 0x48, 0x89, 0xe5} // push rbp; mov rbp, rsp

// frameSize is how many bytes the instructions have that make a function's frame, as unoptimized code does before it stores its
// arguments there; 0 if it does not begin so.
func frameSize(arch unwind.Arch, code []byte) int {
	switch arch {
	case unwind.AMD64:
		endbr64 := []byte{0xf3, 0x0f, 0x1e, 0xfa}
		if rest := bytes.TrimPrefix(code, endbr64); bytes.HasPrefix(rest, framePrologue) {
			return len(code) - len(rest) + len(framePrologue)
		}
	case unwind.ARM64:
		return 4 * framesARM64(words(code))
	}
	return 0
}

func words(code []byte) (out []uint32) {
	for ; len(code) >= 4; code = code[4:] {
		out = append(out, binary.LittleEndian.Uint32(code))
	}
	return out
}

// framesARM64 returns how many instructions set up a frame record, or, in a leaf, a frame into which the next stores an argument
// (Arm Architecture Reference Manual, C4.1.94: loads and stores).
func framesARM64(code []uint32) int {
	is := func(i int, mask, bits uint32) bool { return i < len(code) && code[i]&mask == bits }
	const (
		immediate7  = 0xffc07fff
		immediate12 = 0xff8003ff
	)
	i := 0
	for is(i, 0xfffff01f, 0xd503201f) { // paciasp, bti c: hints
		i++
	}
	switch {
	case is(i, immediate7, 0xa9807bfd) && is(i+1, ^uint32(0), 0x910003fd): // stp x29, x30, [sp, #-N]!; mov x29, sp
		return i + 2
	case !is(i, immediate12, 0xd10003ff): // sub sp, sp, #N
		return 0
	}
	i++
	switch {
	case is(i, immediate7, 0xa9007bfd) && is(i+1, immediate12, 0x910003fd): // stp x29, x30, [sp, #N]; add x29, sp, #N
		return i + 2
	case is(i, 0x3bc003f8, 0x390003e0): // str w0 to x7, or of a vector register, [sp, #N]
		return i
	}
	return 0
}
