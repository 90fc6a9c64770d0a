package cause

import (
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/unwind"
)

// What a program has tried at an address.
const (
	aRead    = "a read"
	aWrite   = "a write"
	aJump    = "a jump"
	anAccess = "an access" // which of them is not known
)

// accessOf says what was tried at an address, as far as the processor has said so. Saved is the address of the context
// that the kernel has saved.
func accessOf(target *assembler.Target, address, saved uint64) string {
	switch target.Arch {
	case unwind.AMD64:
		if bits, err := unwind.ReadWord(target.Memory, saved+errorCode, 8, target.Arch.ByteOrder()); err == nil {
			return accessAMD64(bits)
		}
	case unwind.ARM64:
		if noted, syndrome, ok := target.FaultARM64(saved); ok {
			return accessARM64(syndrome, noted, address)
		}
	}
	return anAccess
}

// Where the kernel saves the processor's error code of a page fault, from the context on (amd64), and its bits.
const (
	errorCode  = 40 + 19*8 // uc_mcontext.gregs[REG_ERR]
	bitWrite   = 1 << 1
	bitExecute = 1 << 4
)

func accessAMD64(bits uint64) string {
	switch {
	case bits&bitExecute != 0:
		return aJump
	case bits&bitWrite != 0:
		return aWrite
	}
	return aRead
}

// An exception's syndrome (Arm ARM, ESR_EL1): its class, and of an abort of data whether it was a write. Of an
// instruction for the cache, which reads, it says so too.
const (
	classShift      = 26
	classFetch      = 0x20
	classMisaligned = 0x22 // the program counter
	classData       = 0x24
	bitData         = 1 << 6
	bitCache        = 1 << 8
	tag             = 0xff << 56 // which the processor leaves out of an address
)

// accessARM64 reads a syndrome. It may be that of an earlier exception of the thread: the address that was noted with it must
// be the signal's. That of a misaligned program counter is not noted.
func accessARM64(syndrome, noted, address uint64) string {
	class := syndrome >> classShift & 0x3f
	switch {
	case class == classMisaligned && noted == 0 && address%4 != 0:
		return aJump
	case (noted^address)&^uint64(tag) != 0:
		return anAccess
	case class == classFetch:
		return aJump
	case class == classData && syndrome&bitData != 0 && syndrome&bitCache == 0:
		return aWrite
	case class == classData:
		return aRead
	}
	return anAccess
}
