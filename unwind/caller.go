package unwind

// The caller-address rules. They follow the heuristics that crash reporters
// share (PLCrashReporter's wiki, symbolic-common's InstructionInfo): a return
// address points behind the call, possibly into the next function, so the
// address to symbolicate is derived from it, depending on the architecture.

// Numbers of the signals for a jump to, or an access of, an invalid, privileged
// or misaligned address. SIGILL and SIGSEGV are the same everywhere.
const (
	sigILL       = 4
	sigBUSLinux  = 7
	sigBUSDarwin = 10
	sigSEGV      = 11
	osNameDarwin = "darwin"
	osNameLinux  = "linux"
)

// InstructionInfo holds the input for deriving a frame's caller address from
// its instruction address. The zero value of each optional field means unknown.
type InstructionInfo struct {
	Arch    Arch
	Address uint64
	// OS determines the number of SIGBUS: 7 on "linux", 10 on "darwin".
	OS string
	// CrashingFrame marks the first frame of a thread: its address is the
	// register's, not a return address.
	CrashingFrame bool
	// Signal is the number of the signal that stopped the thread, 0 if none.
	Signal uint32
	// IPRegister is the original instruction pointer at the time of the crash.
	IPRegister *uint64
}

// AlignedAddress is the start of the current instruction where instructions
// have an alignment, else the address itself: 0x1337 is 0x1334 on ARM64 and
// 0x1336 on ARM, whose low bit only selects Thumb mode.
func (i InstructionInfo) AlignedAddress() uint64 { return alignedAddress(i.Arch, i.Address) }

// PreviousAddress is the instruction before the current one, or, where
// instructions vary in length, an address within it: for 0x1337 it is 0x1330 on
// ARM64, 0x1334 on ARM, 0x1336 on x86. It is an upper bound, and 0 for an
// address below the size of an instruction.
func (i InstructionInfo) PreviousAddress() uint64 { return previousAddress(i.Arch, i.Address) }

// IsCrashSignal reports whether the signal means an illegal instruction, a bus
// error or a segmentation fault on that operating system.
func (i InstructionInfo) IsCrashSignal() bool {
	switch i.Signal {
	case sigILL, sigSEGV:
		return true
	case sigBUSLinux:
		return i.OS == osNameLinux
	case sigBUSDarwin:
		return i.OS == osNameDarwin
	}
	return false
}

// ShouldAdjustCaller reports whether the address must be moved back to the
// call. That is so for every frame except the crashing one. It is so for that
// one too if there was a crash signal and the address differs from the
// instruction pointer: then a reporter has removed the signal handler's frame,
// and the first frame holds a return address like any other.
func (i InstructionInfo) ShouldAdjustCaller() bool {
	if !i.CrashingFrame {
		return true
	}
	return i.IPRegister != nil && *i.IPRegister != i.Address && i.IsCrashSignal()
}

// CallerAddress is the address to symbolicate: within the call for frames that
// hold a return address, the current instruction for the others.
func (i InstructionInfo) CallerAddress() uint64 {
	if i.ShouldAdjustCaller() {
		return i.PreviousAddress()
	}
	return i.AlignedAddress()
}

func alignedAddress(arch Arch, addr uint64) uint64 {
	return addr &^ (arch.InstructionAlignment() - 1)
}

func previousAddress(arch Arch, addr uint64) uint64 {
	aligned, size := alignedAddress(arch, addr), arch.InstructionAlignment()
	if aligned < size {
		return 0
	}
	return aligned - size
}
