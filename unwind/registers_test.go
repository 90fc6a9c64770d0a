package unwind_test

import (
	"strings"
	"testing"

	. "github.com/clewdbg/clew/unwind"
	"pgregory.net/rapid"
)

var arches = []Arch{AMD64, ARM64, I386, ARM, S390X}

// registerNames are the names that snapshots may use, by architecture.
var registerNames = map[Arch]string{
	AMD64: "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip",
	I386:  "eax ecx edx ebx esp ebp esi edi eip",
	ARM64: "x0 x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15 x16 x17 x18 x19 x20 x21 x22 x23 x24 x25 x26 x27 x28 " +
		"x29 x30 sp pc d8 d9 d10 d11 d12 d13 d14 d15",
	ARM: "r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 r12 sp lr pc",
	S390X: "r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 r12 r13 r14 r15 " +
		"f0 f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 f11 f12 f13 f14 f15 pc",
}

func TestRegisterNamesRoundTrip(t *testing.T) {
	for _, arch := range arches {
		seen := map[Register]string{}
		for _, name := range strings.Fields(registerNames[arch]) {
			reg, ok := arch.ParseRegister(name)
			if !ok {
				t.Errorf("%v: %s is not known", arch, name)
				continue
			}
			if other, dup := seen[reg]; dup {
				t.Errorf("%v: %s and %s are both register %d", arch, name, other, reg)
			}
			seen[reg] = name
			if got := arch.RegisterName(reg); got != name {
				t.Errorf("%v: %s is register %d, which is called %s", arch, name, reg, got)
			}
			var r Registers
			r.Set(reg, 42)
			if v, ok := r.Get(reg); !ok || v != 42 {
				t.Errorf("%v: %s cannot be kept: %d, %v", arch, name, v, ok)
			}
		}
	}
}

// What RegisterName makes up for a number that the architecture does not name
// is for messages; it is not a register that a snapshot may set.
func TestParseRegisterRefusesForeignNames(t *testing.T) {
	for _, arch := range arches {
		known := map[string]bool{"fp": arch == ARM64, "lr": arch == ARM64}
		for _, n := range strings.Fields(registerNames[arch]) {
			known[n] = true
		}
		names := []string{"", "reg17", "reg20", "reg30", "reg65", "reg72", "RIP", "x31", "d0", "fp", "lr", "eflags"}
		for _, other := range arches {
			names = append(names, strings.Fields(registerNames[other])...)
		}
		for _, n := range names {
			if reg, ok := arch.ParseRegister(n); ok != known[n] {
				t.Errorf("%v: ParseRegister(%q) = %d, %v", arch, n, reg, ok)
			}
		}
	}
}

func TestRegisterRoles(t *testing.T) {
	want := map[Arch][4]string{
		AMD64: {"rip", "rsp", "rbp", ""}, I386: {"eip", "esp", "ebp", ""},
		ARM64: {"pc", "sp", "x29", "x30"}, ARM: {"pc", "sp", "r11", "lr"}, S390X: {"pc", "r15", "r11", "r14"},
	}
	for arch, names := range want {
		for i, reg := range []Register{arch.PC(), arch.SP(), arch.FP(), arch.LR()} {
			switch {
			case names[i] == "" && reg != NoRegister:
				t.Errorf("%v: role %d is register %d, want none", arch, i, reg)
			case names[i] != "" && arch.RegisterName(reg) != names[i]:
				t.Errorf("%v: role %d is %s, want %s", arch, i, arch.RegisterName(reg), names[i])
			}
		}
	}
	var r Registers
	for _, reg := range []Register{ArchUnknown.PC(), ArchUnknown.SP(), ArchUnknown.FP(), ArchUnknown.LR(), AMD64.LR()} {
		r.Set(reg, 1)
		if _, ok := r.Get(reg); ok || r.Len() != 0 {
			t.Errorf("register %d was kept", reg)
		}
	}
}

func TestDWARFNumbers(t *testing.T) {
	tests := []struct {
		arch Arch
		reg  Register
		name string
	}{
		{AMD64, AMD64RBX, "rbx"}, {AMD64, AMD64RBP, "rbp"}, {AMD64, AMD64RSP, "rsp"}, {AMD64, AMD64R12, "r12"}, {AMD64, AMD64RIP, "rip"},
		{ARM64, ARM64FP, "x29"}, {ARM64, ARM64LR, "x30"}, {ARM64, ARM64SP, "sp"}, {ARM64, ARM64PC, "pc"}, {ARM64, ARM64D8, "d8"},
		{I386, I386ESP, "esp"}, {I386, I386EBP, "ebp"}, {I386, I386EIP, "eip"},
		{S390X, S390XR11, "r11"}, {S390X, S390XR14, "r14"}, {S390X, S390XR15, "r15"}, {S390X, S390XPC, "pc"},
		// zSeries ELF psABI: f0 f2 f4 f6 f1 f3 f5 f7 f8 f10 f12 f14 f9 f11 f13 f15.
		{S390X, 17, "f2"}, {S390X, 20, "f1"}, {S390X, 28, "f9"}, {S390X, 27, "f14"},
		{AMD64, 99, "reg99"}, {ARM64, 48, "reg48"},
	}
	for _, tt := range tests {
		if got := tt.arch.RegisterName(tt.reg); got != tt.name {
			t.Errorf("%v: register %d is called %s, want %s", tt.arch, tt.reg, got, tt.name)
		}
	}
}

// A register file behaves as a map from register to value does: what was not
// set is absent, and zero is a value.
func TestRegistersAreAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arch := rapid.SampledFrom(arches).Draw(t, "arch")
		names := strings.Fields(registerNames[arch])
		var r Registers
		model := map[Register]uint64{}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			reg, _ := arch.ParseRegister(rapid.SampledFrom(names).Draw(t, "register"))
			if rapid.IntRange(0, 3).Draw(t, "op") == 0 {
				r.Forget(reg)
				delete(model, reg)
			} else {
				v := rapid.Uint64().Draw(t, "value")
				r.Set(reg, v)
				model[reg] = v
			}
		}
		before := r
		copied := r
		copied.Set(arch.PC(), ^uint64(0))
		if r != before {
			t.Fatal("a copy is not independent")
		}
		if r.Len() != len(model) {
			t.Fatalf("Len = %d, want %d", r.Len(), len(model))
		}
		n := 0
		for reg, v := range r.All() {
			if want, ok := model[reg]; !ok || want != v {
				t.Fatalf("register %d is %#x, want %#x (%v)", reg, v, want, ok)
			}
			n++
		}
		if n != len(model) {
			t.Fatalf("All gave %d registers, want %d", n, len(model))
		}
		for _, name := range names {
			reg, _ := arch.ParseRegister(name)
			v, ok := r.Get(reg)
			if want, wantOK := model[reg]; v != want || ok != wantOK {
				t.Fatalf("Get(%s) = %#x, %v, want %#x, %v", name, v, ok, want, wantOK)
			}
		}
		for reg := range r.All() {
			if reg != arch.SP() && reg != arch.PC() {
				r.Forget(reg)
			}
		}
		for reg := range r.All() {
			if reg != arch.SP() && reg != arch.PC() {
				t.Fatalf("register %d survived Forget", reg)
			}
		}
		sp, ok := r.SP(arch)
		if want, wantOK := model[arch.SP()]; sp != want || ok != wantOK {
			t.Fatalf("SP after Keep = %#x, %v", sp, ok)
		}
	})
}
