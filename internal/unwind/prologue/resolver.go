package prologue

import "encoding/binary"

// pushedPair is the size of the pair that the first entry of a procedure linkage table pushes on
// arm64: x16 and the return address (sysdeps/aarch64/dl-trampoline.S of glibc).
const pushedPair = 16

// resolves reports whether arm64 code pops that pair, which it has not pushed, and jumps on:
// ldp x17, x30, [sp], #16; br x16.
func resolves(code []byte) bool {
	const (
		popPair  = 0xa8c17bf1
		jump     = 0xd61f0200
		pairMask = 0xfe407fe0 // of a store of two registers of 64 bits relative to sp, and of the second one
		pushesRA = 0xa8007be0
	)
	var before uint32
	for at := 0; at+4 <= len(code); at += 4 {
		word := binary.LittleEndian.Uint32(code[at:])
		switch {
		case before == popPair && word == jump:
			return true
		case word&pairMask == pushesRA:
			return false
		}
		before = word
	}
	return false
}
