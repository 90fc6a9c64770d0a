package assembler

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/clewdbg/clew/unwind"
)

// generatedPC lies in no function that is known.
const generatedPC = 0x407010

// behind is a code map that has some bytes before midPC.
type behind struct {
	code
	call []byte
}

func (b behind) Bytes(addr uint64, n int) []byte {
	const page = midPC &^ 0xfff
	out := make([]byte, 0x1000)
	copy(out[midPC-page-len(b.call):], b.call)
	if addr < page || addr >= page+0x1000 {
		return nil
	}
	return out[addr-page:][:min(n, len(out)-int(addr-page))]
}

// TestAtEntry: code without a known beginning is left as at a function's entry where the call
// before the return address enters the very instruction at which it stands, and only there.
func TestAtEntry(t *testing.T) {
	const mask = 0x7f << 48
	arm := func(word uint32) []byte { return binary.LittleEndian.AppendUint32(nil, word) }
	relative := func(base, to int64) uint32 { return uint32(int32(to - base)) }
	for name, tc := range map[string]struct {
		arch  unwind.Arch
		call  []byte
		reg   unwind.Register
		value uint64
		want  bool
	}{
		"call *%rax":               {unwind.AMD64, []byte{0xff, 0xd0}, 0, generatedPC, true},
		"call *%rcx":               {unwind.AMD64, []byte{0xff, 0xd1}, 2, generatedPC, true},
		"call *%r12":               {unwind.AMD64, []byte{0x41, 0xff, 0xd4}, 12, generatedPC, true},
		"into the function":        {unwind.AMD64, []byte{0xff, 0xd0}, 0, generatedPC - 1, false},
		"another register":         {unwind.AMD64, []byte{0xff, 0xd0}, 3, generatedPC, false},
		"call through memory":      {unwind.AMD64, []byte{0xff, 0x10}, 0, generatedPC, false},
		"call":                     {unwind.AMD64, binary.LittleEndian.AppendUint32([]byte{0xe8}, relative(midPC, generatedPC)), 0, 0, true},
		"call of another":          {unwind.AMD64, binary.LittleEndian.AppendUint32([]byte{0xe8}, relative(midPC, generatedPC-8)), 0, 0, false},
		"no call":                  {unwind.AMD64, []byte{0x90, 0x90}, 0, generatedPC, false},
		"blr x9":                   {unwind.ARM64, arm(0xd63f0120), 9, generatedPC, true},
		"blraaz x9, a signed one":  {unwind.ARM64, arm(0xd63f093f), 9, 0x35<<48 | generatedPC, true},
		"blraa x9, x1":             {unwind.ARM64, arm(0xd73f0921), 9, generatedPC, true},
		"into the function, arm64": {unwind.ARM64, arm(0xd63f0120), 9, generatedPC - 4, false},
		"br x9":                    {unwind.ARM64, arm(0xd61f0120), 9, generatedPC, false},
		"bl":                       {unwind.ARM64, arm(0x94000000 | relative(midPC-4, generatedPC)>>2), 0, 0, true},
		"bl of another":            {unwind.ARM64, arm(0x94000000 | relative(midPC-4, generatedPC-8)>>2), 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			tg := target(unwind.Windows{{Addr: sp0, Data: binary.LittleEndian.AppendUint64(nil, midPC)}})
			tg.Arch, tg.PACMask, tg.Code = tc.arch, mask, behind{synthetic, tc.call}
			th := &unwind.Thread{ID: 7, Segments: []unwind.Segment{cStack}}
			th.Registers.Set(tc.arch.PC(), generatedPC)
			th.Registers.Set(tc.arch.SP(), sp0)
			th.Registers.Set(tc.arch.FP(), 0x1234)
			th.Registers.Set(tc.reg, tc.value)
			cfa := uint64(sp0 + 8)
			if tc.arch == unwind.ARM64 {
				th.Registers.Set(unwind.ARM64LR, 0x11<<48|midPC)
				cfa = sp0
			}
			s := with().Stack(context.Background(), tg, th, Options{})
			if !tc.want {
				if len(s.Frames) != 1 || s.Stop != unwind.Truncated {
					t.Errorf("PCs %#x, %v; want one frame", pcs(s), s.Stop)
				}
				return
			}
			taken(t, s, unwind.TrustCFI)
			fp, _ := s.Frames[1].Registers.FP(tc.arch)
			if len(s.Frames) == 2 && (s.Frames[1].PC.Raw() != midPC || s.Frames[0].CFA != cfa || fp != 0x1234) {
				t.Errorf("PC %#x by CFA %#x, frame pointer %#x", s.Frames[1].PC.Raw(), s.Frames[0].CFA, fp)
			}
			// A frame that waits in a call stands behind it, not at an entry.
			th.FirstPC = unwind.KindReturn
			if s := with().Stack(context.Background(), tg, th, Options{}); len(s.Frames) != 1 {
				t.Errorf("behind a call: PCs %#x", pcs(s))
			}
		})
	}
}

// TestNotAtEntryOfNowhere: a call through a null pointer is not proven by a register that is 0.
func TestNotAtEntryOfNowhere(t *testing.T) {
	tg := target(unwind.Windows{{Addr: sp0, Data: binary.LittleEndian.AppendUint64(nil, midPC)}})
	tg.Arch, tg.Code = unwind.AMD64, behind{synthetic, []byte{0xff, 0xd0}}
	th := &unwind.Thread{ID: 7, Segments: []unwind.Segment{cStack}}
	th.Registers.Set(unwind.AMD64.PC(), 0)
	th.Registers.Set(unwind.AMD64.SP(), sp0)
	th.Registers.Set(0, 0)
	s := with().Stack(context.Background(), tg, th, Options{})
	for _, f := range s.Frames[1:] {
		if f.Trust > unwind.TrustScan {
			t.Errorf("the caller %#x has the trust %v", f.PC.Raw(), f.Trust)
		}
	}
}
