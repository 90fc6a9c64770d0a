package codemodel_test

import (
	"testing"

	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/internal/unwind/prologue"
	"github.com/clewdbg/clew/unwind"
)

// TestComputedCalls: code of the large model (-mcmodel=large -fPIC) computes what it calls, from its own address. An
// address that lies behind a call next to the instruction that has it is no function's: hardened code compares with it.
func TestComputedCalls(t *testing.T) {
	const start, other = 0x1000, 0x1030
	call := []byte{
		0x53,                                     // push %rbx
		0x48, 0x8d, 0x1d, 0xf8, 0xff, 0xff, 0xff, // lea -8(%rip),%rbx: the start
		0x49, 0xbb, 0x10, 0, 0, 0, 0, 0, 0, 0, // movabs $0x10,%r11
		0x4c, 0x01, 0xdb, // add %r11,%rbx
		0x48, 0xb8, 0x20, 0, 0, 0, 0, 0, 0, 0, // movabs $0x20,%rax
		0x48, 0x01, 0xd8, // add %rbx,%rax
		0xff, 0xd0, 0x5b, 0xc3, // call *%rax; pop %rbx; ret
	}
	marked := []byte{
		0x50, 0x50, 0x50, 0x50, 0x50, 0x50, 0x50, 0x50, 0x50, 0x50, 0x50, // push %rax, 11 times
		0xe8, 0xf0, 0xff, 0xff, 0xff, // call the start
		0x48, 0x8d, 0x35, 0xf9, 0xff, 0xff, 0xff, // lea -7(%rip),%rsi: its own address
		0x48, 0x8d, 0x35, 0xf2, 0xff, 0xff, 0xff, // lea -14(%rip),%rsi: the same, behind the call
		0x48, 0x83, 0xc4, 88, 0xc3, // add $88,%rsp; ret
	}
	for name, c := range map[string]struct {
		code []byte
		want map[uint64]codemodel.Source
	}{
		"a call":   {call, map[uint64]codemodel.Source{start: codemodel.Symbol, other: codemodel.Call}},
		"a marker": {marked, map[uint64]codemodel.Source{start: codemodel.Symbol, other: codemodel.Gap}},
	} {
		code := append([]byte(nil), c.code...)
		for len(code) < other-start {
			code = append(code, 0x90)
		}
		code = append(code, 0x53, 0x90, 0x5b, 0xc3) // push %rbx; nop; pop %rbx; ret
		got := codemodel.New(unwind.AMD64, &alone{flat{addr: start, code: code}, prologue.Proven}).Starts()
		for _, s := range got {
			if source, ok := c.want[s.Addr]; !ok || source != s.Source {
				t.Errorf("%s: %#x, a %v", name, s.Addr, s.Source)
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %d starts, want %d", name, len(got), len(c.want))
		}
	}
}

// TestProbe: a call right before "sub %rax,%rsp" probes so much of the stack, and keeps rax (__rust_probestack).
func TestProbe(t *testing.T) {
	const start = 0x1000
	code := []byte{
		0xb8, 0x38, 0x13, 0, 0, // mov $0x1338,%eax
		0xe8, 0x0b, 0, 0, 0, // call 21
		0x48, 0x29, 0xc4, 0x90, // sub %rax,%rsp; nop
		0x48, 0x81, 0xc4, 0x38, 0x13, 0, 0, // 14: add $0x1338,%rsp; ret
		0xc3,
	}
	f := codemodel.New(unwind.AMD64, &flat{start, code, []uint64{start, start + 21}}).At(start)
	if p, ok := f.At(start + 13); !ok || p.Height != 0x1340 || p.Proof != prologue.Proven {
		t.Errorf("%+v, %v", p, ok)
	}
}
