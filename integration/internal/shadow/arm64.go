package shadow

import "encoding/binary"

// KindOfARM64 classifies the instruction that code begins with. A branch to a register is a
// return, too: whether it returns, its target says.
func KindOfARM64(code []byte) Kind {
	if len(code) < 4 {
		return Other
	}
	word := binary.LittleEndian.Uint32(code)
	// Those with a register have forms that check the target's signature: in bit 24 and
	// from bit 10 on.
	switch {
	case word>>26 == 0x25, word&0xfefff000 == 0xd63f0000: // bl, blr
		return Call
	case word&0xfefff000 == 0xd65f0000, word&0xfefff000 == 0xd61f0000: // ret, br
		return Return
	case word == 0xd4000001: // svc #0
		return Syscall
	case word&0x3fc00000 == 0x08400000: // ldxr, ldaxr, ldxp, ldaxp
		return Exclusive
	}
	return Other
}

// BehindExclusive finds where a sequence ends that code begins with: behind the branch back
// that follows the store. It is 0 where there is no store.
func BehindExclusive(code []byte) int {
	for at := 4; at+8 <= len(code); at += 4 {
		if binary.LittleEndian.Uint32(code[at:])&0x3fc00000 == 0x08000000 { // stxr, stlxr, stxp, stlxp
			return at + 8
		}
	}
	return 0
}
