package callsite

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const base = 0x40_1000

// TestBefore: every form of call that ends at an address, and what looks like one.
// The bytes are what GNU as makes of the text.
func TestBefore(t *testing.T) {
	for _, c := range []struct {
		text, code string
		want       []Call
	}{
		{"call .+0x105", "e8 00010000", []Call{{Direct: true, Target: base + 0x100}}},
		{"call . (backwards)", "e8 00ffffff", []Call{{Direct: true, Target: base - 0x100}}},
		{"data16 data16 rex.W call", "66 66 48 e8 00010000", []Call{{Direct: true, Target: base + 0x100}}},
		{"call *%rax", "ff d0", []Call{{}}},
		{"call *%r11", "41 ff d3", []Call{{}}},
		{"bnd call *%rax", "f2 ff d0", []Call{{}}},
		{"call *(%rbx)", "ff 13", []Call{{}}},
		{"call *(%rsp)", "ff 14 24", []Call{{}}},
		{"call *8(%rbp)", "ff 55 08", []Call{{}}},
		{"call *8(%rsp)", "ff 54 24 08", []Call{{}}},
		{"call *0x1000(%r13)", "41 ff 95 00100000", []Call{{}}},
		{"call *(,%rax,8)", "ff 14 c5 00000000", []Call{{}}},
		{"call *0x1000(%rax,%rbx,4)", "ff 94 98 00100000", []Call{{}}},
		{"call *0x100(%rip)", "ff 15 00010000", []Call{{Pointer: base + 0x100}}},
		{"call *-0x100(%rip)", "ff 15 00ffffff", []Call{{Pointer: base - 0x100}}},
		{"jmp *%rax", "ff e0", nil},
		{"jmp rel32", "e9 00010000", nil},
		{"push (%rax)", "ff 30", nil},
		{"lcall *(%rax)", "ff 18", nil},
		{"nop", "0f 1f 80 00000000", nil},
		{"syscall", "0f 05", nil},
		{"ret", "c3", nil},
		{"nothing", "", nil},
		// A displacement may end like a call: both are possible.
		{"call rel32 and call *%rax", "e8 0001ffd0", []Call{{Direct: true, Target: ^uint64(0x2ec0_eeff)}, {}}},
	} {
		code := unhex(t, c.code)
		got, _ := Before(unwind.AMD64, code, base)
		if len(got) != len(c.want) {
			t.Errorf("%s: %+v, want %+v", c.text, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %+v, want %+v", c.text, got[i], c.want[i])
			}
		}
	}
	for _, c := range []struct {
		text string
		word uint32
		want []Call
	}{
		{"bl .+0x104", 0x94000041, []Call{{Direct: true, Target: base + 0x100}}},
		{"bl .-4", 0x97ffffff, []Call{{Direct: true, Target: base - 8}}},
		{"blr x8", 0xd63f0100, []Call{{}}},
		{"blraa x8, x9", 0xd73f0909, []Call{{}}},
		{"blraaz x8", 0xd63f091f, []Call{{}}},
		{"b .+0x104", 0x14000041, nil},
		{"br x8", 0xd61f0100, nil},
		{"ret", 0xd65f03c0, nil},
		{"nop", 0xd503201f, nil},
	} {
		got, _ := Before(unwind.ARM64, binary.LittleEndian.AppendUint32(nil, c.word), base)
		if len(got) != len(c.want) || len(got) > 0 && got[0] != c.want[0] {
			t.Errorf("%s: %+v, want %+v", c.text, got, c.want)
		}
	}
}

// TestArchitectures: what is not decoded is not known, and not refused (R17).
func TestArchitectures(t *testing.T) {
	for _, arch := range []unwind.Arch{unwind.AMD64, unwind.ARM64, unwind.I386, unwind.ARM, unwind.S390X} {
		decoded := arch == unwind.AMD64 || arch == unwind.ARM64
		none := make([]byte, Longest) // no call on any
		if calls, known := Before(arch, none, base); len(calls) != 0 || known != decoded {
			t.Errorf("%v: %+v, %v", arch, calls, known)
		}
		tr := Tracer{Arch: arch, Source: &program{code: unhex(t, "c0035fd6 c3")}, Budget: 100}
		if got, err := tr.Reaches(base, instruction(0)); err != nil || (got == Reached) != decoded {
			t.Errorf("%v: %d, %v", arch, got, err)
		}
	}
}

// program is code at base, and pointers.
type program struct {
	code     []byte
	pointers map[uint64]uint64
	err      error
}

func (p *program) Code(addr uint64, n int) ([]byte, error) {
	if p.err != nil || addr < base || addr-base >= uint64(len(p.code)) {
		return nil, p.err
	}
	off := addr - base
	return p.code[off:min(off+uint64(n), uint64(len(p.code)))], nil
}

func (p *program) Word(addr uint64) (uint64, bool, error) {
	v, ok := p.pointers[addr]
	return v, ok, nil
}

func instruction(off uint64) unwind.CodeAddr {
	return unwind.Code(base+off, unwind.KindInstruction)
}
func behind(off uint64) unwind.CodeAddr { return unwind.Code(base+off, unwind.KindReturn) }

// TestReaches: what code can and cannot lead to.
func TestReaches(t *testing.T) {
	for _, c := range []struct {
		name, code string
		pointers   map[uint64]uint64
		to         unwind.CodeAddr
		want       Answer
	}{
		{"the first instruction", "90 c3", nil, instruction(0), Reached},
		{"the next", "90 c3", nil, instruction(1), Reached},
		{"behind a return", "c3 90", nil, instruction(1), Never},
		{"the middle of an instruction", "b8 01000000 c3", nil, instruction(2), Never},
		{"behind a call", "e8 00000000 c3", nil, behind(5), Reached},
		{"where a call would end, but none does", "b8 00000000 c3", nil, behind(5), Never},
		{"what is only called", "e8 01000000 c3 90 c3", nil, instruction(6), Never},
		{"taken and not taken", "74 01 c3 90 c3", nil, instruction(3), Reached},
		{"both ways, neither", "74 01 c3 c3 90", nil, instruction(4), Never},
		{"a tail call", "eb 02 c3 c3 90 c3", nil, instruction(4), Reached},
		{"a loop", "90 eb fd 90", nil, instruction(3), Never},
		{"a jump table", "ff e0 90", nil, instruction(2), Unknown},
		{"a retpoline", "e8 04000000 f3 90 eb fc 48 89 04 24 c3 90", nil, instruction(14), Unknown},
		{"what does not decode", "06 90", nil, instruction(1), Unknown},
		{"code that is not known", "e9 00100000 90", nil, instruction(5), Unknown},
		{"a trap that goes on", "cc 90", nil, instruction(1), Reached},
		{"a stop", "0f 0b 90", nil, instruction(2), Never},
		{"a system call", "0f 05 90", nil, instruction(2), Reached},
		{"endbr64 and VEX", "f3 0f 1e fa c5 f8 77 90 c3", nil, instruction(7), Reached},
		{"a stub", "f3 0f 1e fa ff 25 02000000 cc cc 90", map[uint64]uint64{base + 12: base + 12}, instruction(12), Reached},
		{"a stub for another", "ff 25 00000000 c3 90", map[uint64]uint64{base + 6: base + 6}, instruction(7), Never},
		{"a stub that cannot be read", "ff 25 00000000 c3 90", nil, instruction(7), Unknown},
		{"a jump by a pointer that may have changed", "48 89 e5 48 89 e5 48 89 e5 ff 25 00000000 c3 90", map[uint64]uint64{base + 15: base + 15}, instruction(16), Unknown},
	} {
		p := &program{code: unhex(t, c.code), pointers: c.pointers}
		tr := Tracer{Arch: unwind.AMD64, Source: p, Budget: 1000}
		if got, err := tr.Reaches(base, c.to); got != c.want || err != nil {
			t.Errorf("%s: %d, %v; want %d", c.name, got, err, c.want)
		}
	}
	// cbz x0, +8; ret; tbz x0, #0, +8; ret; b.eq +8; ret; nop; br x16
	arm := &program{}
	for _, w := range []uint32{0xb4000040, 0xd65f03c0, 0x36000040, 0xd65f03c0, 0x54000040, 0xd65f03c0, 0x94000000, 0xd65f03c0, 0xd61f0200, 0xd503201f} {
		arm.code = binary.LittleEndian.AppendUint32(arm.code, w)
	}
	tr := Tracer{Arch: unwind.ARM64, Source: arm, Budget: 1000}
	for _, c := range []struct {
		from, to uint64
		kind     unwind.PCKind
		want     Answer
	}{{0, 24, unwind.KindInstruction, Reached}, {0, 28, unwind.KindReturn, Reached}, {0, 32, unwind.KindInstruction, Never}, {32, 36, unwind.KindInstruction, Unknown}} {
		if got, err := tr.Reaches(base+c.from, unwind.Code(base+c.to, c.kind)); got != c.want || err != nil {
			t.Errorf("arm64, from %d to %d: %d, %v; want %d", c.from, c.to, got, err, c.want)
		}
	}
}

// TestBudget: a question ends, and what it did not see is not denied.
func TestBudget(t *testing.T) {
	p := &program{code: make([]byte, 3*maxInstructions)}
	for i := range p.code {
		p.code[i] = 0x90
	}
	for budget, want := range map[int]Answer{10: Unknown, 10 * maxInstructions: Unknown} {
		tr := Tracer{Arch: unwind.AMD64, Source: p, Budget: budget}
		if got, err := tr.Reaches(base, behind(1)); got != want || err != nil || tr.Budget < 0 {
			t.Errorf("budget %d: %d, %v, %d left", budget, got, err, tr.Budget)
		}
	}
}

// TestSourceFails: an error of the source ends the question.
func TestSourceFails(t *testing.T) {
	failure := errors.New("gone")
	tr := Tracer{Arch: unwind.AMD64, Source: &program{err: failure}, Budget: 10}
	if _, _, err := tr.Leads(Call{Direct: true, Target: base}, instruction(0x10)); !errors.Is(err, failure) {
		t.Errorf("error %v", err)
	}
}

// TestLeads: a pointer can speak for an indirect call, never against it.
func TestLeads(t *testing.T) {
	p := &program{code: unhex(t, "90 c3 c3"), pointers: map[uint64]uint64{0x1000: base, 0x2000: base + 2}}
	for _, c := range []struct {
		call  Call
		want  Answer
		entry uint64
	}{
		{Call{Direct: true, Target: base}, Reached, base}, {Call{Direct: true, Target: base + 2}, Never, 0},
		{Call{Pointer: 0x1000}, Reached, base}, {Call{Pointer: 0x2000}, Unknown, 0}, {Call{Pointer: 0x3000}, Unknown, 0}, {Call{}, Unknown, 0},
	} {
		tr := Tracer{Arch: unwind.AMD64, Source: p, Budget: 100}
		if got, entry, err := tr.Leads(c.call, instruction(1)); got != c.want || entry != c.entry || err != nil {
			t.Errorf("%+v: %d, %#x, %v; want %d, %#x", c.call, got, entry, err, c.want, c.entry)
		}
	}
	// A stub, and a function that only jumps: what they lead to is the entry.
	p = &program{code: unhex(t, "f30f1efa ff2500000000 eb01 c3 90 c3"), pointers: map[uint64]uint64{base + 10: base + 10}}
	tr := Tracer{Arch: unwind.AMD64, Source: p, Budget: 100}
	if got, entry, err := tr.Leads(Call{Direct: true, Target: base}, instruction(14)); got != Reached || entry != base+13 || err != nil {
		t.Errorf("through stubs: %d, %#x, %v", got, entry, err)
	}
	// In the stub itself, the stub is the function.
	for _, at := range []uint64{0, 4} {
		if got, entry, err := tr.Leads(Call{Direct: true, Target: base}, instruction(at)); got != Reached || entry != base || err != nil {
			t.Errorf("to the stub's %d: %d, %#x, %v", at, got, entry, err)
		}
	}
}

func TestIsSignalReturn(t *testing.T) {
	code := unhex(t, "48c7c00f000000 0f05 90")
	if !IsSignalReturn(unwind.AMD64, code) || IsSignalReturn(unwind.AMD64, code[:8]) || IsSignalReturn(unwind.ARM64, code) || IsSignalReturn(unwind.S390X, nil) {
		t.Error("amd64's is not told from the others")
	}
	if !IsSignalReturn(unwind.ARM64, unhex(t, "681180d2 010000d4")) {
		t.Error("arm64's is not known")
	}
}

// FuzzReaches: no code makes a question endless or panic.
func FuzzReaches(f *testing.F) {
	f.Add([]byte{0xff, 0x25, 0, 0, 0, 0, 0xe9}, uint64(3), uint64(base), false, true)
	f.Add([]byte{0x66, 0xe8, 0, 0, 0, 0, 0x0f, 0x84, 1, 0, 0, 0}, uint64(5), uint64(1), true, false)
	f.Fuzz(func(t *testing.T, code []byte, to, pointer uint64, arm, ret bool) {
		p := &program{code: code, pointers: map[uint64]uint64{pointer: base}}
		tr := Tracer{Arch: unwind.AMD64, Source: p, Budget: 5000}
		if arm {
			tr.Arch = unwind.ARM64
		}
		place := instruction(to)
		if ret {
			place = behind(to)
		}
		calls, _ := Before(tr.Arch, code, base+uint64(len(code)))
		for _, call := range calls {
			if _, _, err := tr.Leads(call, place); err != nil {
				t.Fatal(err)
			}
		}
		if a, err := tr.Reaches(base, place); err != nil || tr.Budget < 0 || a > Reached {
			t.Fatalf("%d, %v, %d left", a, err, tr.Budget)
		}
	})
}
