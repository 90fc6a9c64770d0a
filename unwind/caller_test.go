package unwind_test

import (
	"testing"

	. "github.com/clewdbg/clew/unwind"
	"pgregory.net/rapid"
)

const (
	sigill       = 4
	sigbusLinux  = 7
	sigbusDarwin = 10
	sigsegv      = 11
)

func ptr(v uint64) *uint64 { return &v }

// The examples of the caller-address heuristics, all with the address 0x1337.
func TestCallerAddressExamples(t *testing.T) {
	tests := []struct {
		name                      string
		info                      InstructionInfo
		aligned, previous, caller uint64
		shouldAdjust, isCrash     bool
	}{
		{name: "x86, defaults", info: InstructionInfo{Arch: I386},
			aligned: 0x1337, previous: 0x1336, caller: 0x1336, shouldAdjust: true},
		{name: "x86, SIGSEGV", info: InstructionInfo{Arch: I386, Signal: sigsegv},
			aligned: 0x1337, previous: 0x1336, caller: 0x1336, shouldAdjust: true, isCrash: true},
		{name: "x86, crashing frame", info: InstructionInfo{Arch: I386, CrashingFrame: true},
			aligned: 0x1337, previous: 0x1336, caller: 0x1337},
		{name: "x86-64, a caller", info: InstructionInfo{Arch: AMD64},
			aligned: 0x1337, previous: 0x1336, caller: 0x1336, shouldAdjust: true},
		{name: "x86-64, crashing frame", info: InstructionInfo{Arch: AMD64, CrashingFrame: true},
			aligned: 0x1337, previous: 0x1336, caller: 0x1337},
		{name: "ARM64, crashing frame", info: InstructionInfo{Arch: ARM64, CrashingFrame: true},
			aligned: 0x1334, previous: 0x1330, caller: 0x1334},
		{name: "ARM64, a caller", info: InstructionInfo{Arch: ARM64},
			aligned: 0x1334, previous: 0x1330, caller: 0x1330, shouldAdjust: true},
		{name: "ARM64, a caller, with signal and another IP",
			info:    InstructionInfo{Arch: ARM64, Signal: sigsegv, IPRegister: ptr(0x4242)},
			aligned: 0x1334, previous: 0x1330, caller: 0x1330, shouldAdjust: true, isCrash: true},
		{name: "ARM, Thumb bit stripped, then 2 bytes back", info: InstructionInfo{Arch: ARM},
			aligned: 0x1336, previous: 0x1334, caller: 0x1334, shouldAdjust: true},
		{name: "ARM, crashing frame", info: InstructionInfo{Arch: ARM, CrashingFrame: true},
			aligned: 0x1336, previous: 0x1334, caller: 0x1336},
		{name: "s390x, a caller", info: InstructionInfo{Arch: S390X},
			aligned: 0x1336, previous: 0x1334, caller: 0x1334, shouldAdjust: true},
		{name: "unknown architecture", info: InstructionInfo{},
			aligned: 0x1337, previous: 0x1336, caller: 0x1336, shouldAdjust: true},

		// A reporter that removes the signal handler's frame leaves a return
		// address in the first frame: recognised by an IP that differs.
		{name: "crashing frame, crash signal, another IP",
			info:    InstructionInfo{Arch: ARM64, CrashingFrame: true, Signal: sigsegv, IPRegister: ptr(0x4242)},
			aligned: 0x1334, previous: 0x1330, caller: 0x1330, shouldAdjust: true, isCrash: true},
		{name: "crashing frame, crash signal, the same IP",
			info:    InstructionInfo{Arch: ARM64, CrashingFrame: true, Signal: sigsegv, IPRegister: ptr(0x1337)},
			aligned: 0x1334, previous: 0x1330, caller: 0x1334, isCrash: true},
		{name: "crashing frame, crash signal, IP unknown",
			info:    InstructionInfo{Arch: ARM64, CrashingFrame: true, Signal: sigsegv},
			aligned: 0x1334, previous: 0x1330, caller: 0x1334, isCrash: true},
		{name: "crashing frame, another signal, another IP",
			info:    InstructionInfo{Arch: ARM64, CrashingFrame: true, Signal: 6, IPRegister: ptr(0x4242)},
			aligned: 0x1334, previous: 0x1330, caller: 0x1334},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			i := tt.info
			i.Address = 0x1337
			if got := i.AlignedAddress(); got != tt.aligned {
				t.Errorf("AlignedAddress = %#x, want %#x", got, tt.aligned)
			}
			if got := i.PreviousAddress(); got != tt.previous {
				t.Errorf("PreviousAddress = %#x, want %#x", got, tt.previous)
			}
			if got := i.ShouldAdjustCaller(); got != tt.shouldAdjust {
				t.Errorf("ShouldAdjustCaller = %v, want %v", got, tt.shouldAdjust)
			}
			if got := i.IsCrashSignal(); got != tt.isCrash {
				t.Errorf("IsCrashSignal = %v, want %v", got, tt.isCrash)
			}
			if got := i.CallerAddress(); got != tt.caller {
				t.Errorf("CallerAddress = %#x, want %#x", got, tt.caller)
			}
		})
	}
}

// SIGBUS has another number on Darwin, and the other system's number means
// something else: 10 is SIGUSR1 on Linux, 7 is SIGEMT on Darwin.
func TestCrashSignalByOS(t *testing.T) {
	tests := []struct {
		os     string
		signal uint32
		want   bool
	}{
		{"linux", sigill, true}, {"darwin", sigill, true}, {"", sigill, true},
		{"linux", sigsegv, true}, {"darwin", sigsegv, true}, {"", sigsegv, true},
		{"linux", sigbusLinux, true}, {"darwin", sigbusLinux, false}, {"", sigbusLinux, false},
		{"linux", sigbusDarwin, false}, {"darwin", sigbusDarwin, true}, {"", sigbusDarwin, false},
		{"linux", 0, false}, {"linux", 5, false}, {"linux", 6, false}, {"darwin", 6, false},
	}
	for _, tt := range tests {
		if got := (InstructionInfo{Arch: AMD64, OS: tt.os, Signal: tt.signal}).IsCrashSignal(); got != tt.want {
			t.Errorf("signal %d on %q: IsCrashSignal = %v, want %v", tt.signal, tt.os, got, tt.want)
		}
	}
}

// The typed addresses follow the same rules (R9), and keep the raw value.
func TestCodeAddrLookup(t *testing.T) {
	tests := []struct {
		arch     Arch
		ins, ret LookupAddr
	}{
		{AMD64, 0x1337, 0x1336}, {I386, 0x1337, 0x1336},
		{ARM64, 0x1334, 0x1330}, {ARM, 0x1336, 0x1334}, {S390X, 0x1336, 0x1334},
	}
	for _, tt := range tests {
		ins, ret := Code(0x1337, KindInstruction), Code(0x1337, KindReturn)
		if got := ins.Lookup(tt.arch); got != tt.ins {
			t.Errorf("%v: instruction looked up at %#x, want %#x", tt.arch, got, tt.ins)
		}
		if got := ret.Lookup(tt.arch); got != tt.ret {
			t.Errorf("%v: return address looked up at %#x, want %#x", tt.arch, got, tt.ret)
		}
		if ins.Raw() != 0x1337 || ret.Raw() != 0x1337 {
			t.Errorf("%v: raw addresses changed: %#x, %#x", tt.arch, ins.Raw(), ret.Raw())
		}
	}
}

func TestCallerAddressProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := InstructionInfo{
			Arch:          rapid.SampledFrom([]Arch{ArchUnknown, AMD64, ARM64, I386, ARM, S390X}).Draw(t, "arch"),
			Address:       rapid.Uint64().Draw(t, "address"),
			CrashingFrame: rapid.Bool().Draw(t, "crashing"),
			Signal:        uint32(rapid.IntRange(0, 32).Draw(t, "signal")),
		}
		align := i.Arch.InstructionAlignment()
		aligned, previous, caller := i.AlignedAddress(), i.PreviousAddress(), i.CallerAddress()
		if aligned%align != 0 || aligned > i.Address || i.Address-aligned >= align {
			t.Fatalf("aligned address of %#x is %#x", i.Address, aligned)
		}
		if previous%align != 0 || previous > aligned || (aligned >= align && aligned-previous != align) {
			t.Fatalf("previous address of %#x is %#x", i.Address, previous)
		}
		if caller != aligned && caller != previous {
			t.Fatalf("caller address %#x is neither %#x nor %#x", caller, aligned, previous)
		}
	})
}

// The first instructions of the address space have no previous one.
func TestPreviousAddressDoesNotWrap(t *testing.T) {
	for _, arch := range []Arch{AMD64, ARM64, I386, ARM, S390X} {
		for addr := range arch.InstructionAlignment() {
			if got := (InstructionInfo{Arch: arch, Address: addr}).PreviousAddress(); got != 0 {
				t.Errorf("%v: previous address of %#x is %#x", arch, addr, got)
			}
		}
	}
}
