package delve

import (
	"bytes"
	"encoding/binary"
)

// framePrologue is how a function of C's begins that sets up a frame pointer, on amd64.
var framePrologue = []byte{0x55, 0x48, 0x89, 0xe5} // push rbp; mov rbp, rsp

// storesArguments says whether a function of C begins as unoptimized code does, which stores its arguments in its frame next.
func storesArguments(arch string, code []byte) bool {
	switch arch {
	case "amd64":
		endbr64 := []byte{0xf3, 0x0f, 0x1e, 0xfa}
		return bytes.HasPrefix(bytes.TrimPrefix(code, endbr64), framePrologue)
	case "arm64":
		return framesARM64(words(code))
	}
	return false
}

func words(code []byte) (out []uint32) {
	for ; len(code) >= 4; code = code[4:] {
		out = append(out, binary.LittleEndian.Uint32(code))
	}
	return out
}

// framesARM64 says whether code sets up a frame record, or, in a leaf, a frame into which it stores an argument (Arm Architecture
// Reference Manual, C4.1.94: loads and stores).
func framesARM64(code []uint32) bool {
	is := func(i int, mask, bits uint32) bool { return i < len(code) && code[i]&mask == bits }
	const (
		immediate7  = 0xffc07fff
		immediate12 = 0xff8003ff
	)
	i := 0
	for is(i, 0xfffff01f, 0xd503201f) { // paciasp, bti c: hints
		i++
	}
	if is(i, immediate7, 0xa9807bfd) { // stp x29, x30, [sp, #-N]!
		return is(i+1, ^uint32(0), 0x910003fd) // mov x29, sp
	}
	if !is(i, immediate12, 0xd10003ff) { // sub sp, sp, #N
		return false
	}
	i++
	if is(i, immediate7, 0xa9007bfd) { // stp x29, x30, [sp, #N]
		return is(i+1, immediate12, 0x910003fd) // add x29, sp, #N
	}
	return is(i, 0x3bc003f8, 0x390003e0) // str w0 to x7, or of a vector register, [sp, #N]
}
