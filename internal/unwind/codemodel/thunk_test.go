package codemodel_test

import (
	"testing"

	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
)

// flat is an image of code alone.
type flat struct {
	addr   uint64
	code   []byte
	starts []uint64
}

func (f *flat) Code(addr uint64, n int) []byte {
	if addr < f.addr || addr-f.addr >= uint64(len(f.code)) {
		return nil
	}
	code := f.code[addr-f.addr:]
	return code[:min(n, len(code))]
}

func (f *flat) Data(addr uint64, n int) []byte {
	if code := f.Code(addr, n); len(code) == n {
		return code
	}
	return nil
}

func (f *flat) Slot(uint64) (uint64, string) { return 0, "" }

func (f *flat) Bounds(addr uint64) (codemodel.Piece, bool) {
	for i, s := range f.starts {
		end := f.addr + uint64(len(f.code))
		if i+1 < len(f.starts) {
			end = min(end, f.starts[i+1])
		}
		if addr >= s && addr < end {
			return codemodel.Piece{Start: s, End: end}, true
		}
	}
	return codemodel.Piece{}, false
}

// TestThunks: between a thunk's inner call and its end two words lie above the frame; the
// code that waits for no one is never reached.
func TestThunks(t *testing.T) {
	const start = 0x1000
	trap := []byte{0xe8, 7, 0, 0, 0, 0xf3, 0x90, 0x0f, 0xae, 0xe8, 0xeb, 0xf9}
	for name, c := range map[string]struct {
		end    []byte
		places map[uint64]string // "" for none
	}{
		"return": {[]byte{0x48, 0x8d, 0x64, 0x24, 0x08, 0xc3}, map[uint64]string{ // lea 8(%rsp),%rsp; ret
			0: "cfa=rsp+8; ra=[cfa-8]; fp=unchanged", 5: "", 7: "", 12: "cfa=rsp+16; ra=[cfa-8]; fp=unchanged", 17: "cfa=rsp+8; ra=[cfa-8]; fp=unchanged"}},
		"indirect": {[]byte{0x48, 0x89, 0x04, 0x24, 0xc3}, map[uint64]string{ // mov %rax,(%rsp); ret
			0: "cfa=rsp+8; ra=[cfa-8]; fp=unchanged", 5: "", 12: "cfa=rsp+16; ra=[cfa-8]; fp=unchanged", 16: "cfa=rsp+16; ra=[cfa-8]; fp=unchanged"}},
	} {
		image := flat{start, append(trap[:len(trap):len(trap)], c.end...), []uint64{start}}
		f := codemodel.New(unwind.AMD64, &image).At(start)
		for off, want := range c.places {
			p, ok := f.At(start + off)
			got := ""
			if ok {
				got = p.Rule.String()
			}
			if got != want || ok && p.Proof != prologue.Proven {
				t.Errorf("%s+%d: %q (%v), want %q", name, off, got, p.Proof, want)
			}
		}
	}
}

// TestComesBack: what is behind calls is proven only if they return.
func TestComesBack(t *testing.T) {
	const start = 0x1000
	code := []byte{
		0x50, 0xe8, 10, 0, 0, 0, 0x58, 0xc3, // 0: push %rax; call 16; pop %rax; ret
		0x50, 0xe8, 3, 0, 0, 0, 0x58, 0xc3, // 8: push %rax; call 17; pop %rax; ret
		0xc3,       // 16: ret
		0x0f, 0x0b, // 17: ud2
		0x50, 0xff, 0xd0, 0x58, 0xc3, // 19: push %rax; call *%rax; pop %rax; ret
		0xe8, 0xfb, 0xff, 0xff, 0xff, 0xc3, // 24: call 24; ret
		0x50, 0xe8, 2, 0, 0, 0, 0x58, 0xc3, // 30: push %rax; call 38; pop %rax; ret
		0x90, 0xe8, 7, 0, 0, 0, 0xf3, 0x90, 0x0f, 0xae, 0xe8, 0xeb, 0xf9, 0x48, 0x8d, 0x64, 0x24, 0x08, 0xc3, // 38: nop; a return, as a thunk
	}
	m := codemodel.New(unwind.AMD64, &flat{start, code, []uint64{start, start + 8, start + 16, start + 17, start + 19, start + 24, start + 30, start + 38}})
	for off, want := range map[uint64]prologue.Proof{6: prologue.Proven, 14: prologue.Unproven, 22: prologue.Some, 29: prologue.Some, 36: prologue.Proven} {
		f := m.At(start + off)
		if p, _ := f.At(start + off); p.Proof != want {
			t.Errorf("%d: %v, want %v", off, p.Proof, want)
		}
	}
}

// TestStays: code that a direct call enters cannot be elsewhere, though a call in it that
// never returns lies before a function with a jump to anywhere.
func TestStays(t *testing.T) {
	const start = 0x1000
	code := []byte{
		0x85, 0xff, 0x74, 1, 0xc3, 0xe8, 2, 0, 0, 0, // 0: test %edi,%edi; je 5; ret; call 12
		0xff, 0xe0, // 10: jmp *%rax
		0x0f, 0x0b, // 12: ud2
		0xeb, 0xfa, // 14: jmp 10
		0xe9, 0xeb, 0xff, 0xff, 0xff, // 16: jmp 0
		0x74, 0xf3, 0xc3, // 21: je 10; ret
		0x90,       // 24: nop, and on
		0xff, 0xe0, // 25: jmp *%rax
	}
	m := codemodel.New(unwind.AMD64, &flat{start, code, []uint64{start, start + 10, start + 12, start + 14, start + 16, start + 21, start + 24, start + 25}})
	for _, c := range []struct {
		entry, place uint64
		want         bool
	}{{0, 0x5000, true}, {0, 5, false}, {0, 10, false}, {0, 12, true}, {14, 0x5000, false}, {16, 0x5000, true}, {16, 4, false}, {2, 0x5000, false}, {21, 0x5000, false}, {24, 0x5000, false}} {
		if got := m.Stays(start+c.entry, start+c.place); got != c.want {
			t.Errorf("from %d to %d: %v", c.entry, c.place, got)
		}
	}
}

func FuzzImage(f *testing.F) {
	f.Add([]byte{0x83, 0xff, 3, 0x77, 9, 0xff, 0x24, 0xfd, 0, 0x10, 0, 0, 0xc3}, uint16(5))
	f.Add([]byte{0xe8, 7, 0, 0, 0, 0xf3, 0x90, 0x0f, 0xae, 0xe8, 0xeb, 0xf9, 0x48, 0x8d, 0x64, 0x24, 0x08, 0xc3}, uint16(3))
	f.Fuzz(func(t *testing.T, code []byte, second uint16) {
		const start = 0x1000
		if len(code) > 4096 {
			return
		}
		m := codemodel.New(unwind.AMD64, &flat{start, code, []uint64{start, start + uint64(second)}})
		for pc := uint64(start); pc < start+uint64(len(code)); pc++ {
			if fn := m.At(pc); fn != nil {
				fn.At(pc)
				fn.Waiting(pc)
				m.Stays(fn.Start, pc)
			}
		}
	})
}
