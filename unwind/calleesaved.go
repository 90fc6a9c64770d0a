package unwind

var (
	savedAMD64 = []Register{AMD64RBX, AMD64RBP, 12, 13, 14, 15}
	savedARM64 = []Register{19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 72, 73, 74, 75, 76, 77, 78, 79}
	savedI386  = []Register{3, 5, 6, 7} // ebx ebp esi edi
)

// CalleeSaved are the registers that every function keeps for its caller by the
// architecture's C ABI, without stack pointer and link register: System V psABI
// for amd64, figure 3.4, and for i386, table 2.14; AAPCS64, 6.1. It gives nil for
// other architectures. The list must not be changed.
func (a Arch) CalleeSaved() []Register {
	switch a {
	case AMD64:
		return savedAMD64
	case ARM64:
		return savedARM64
	case I386:
		return savedI386
	}
	return nil
}
