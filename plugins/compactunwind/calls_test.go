package compactunwind

import (
	"testing"

	"github.com/clewdbg/clew/internal/unwind/cfi/cfitest"
	"github.com/clewdbg/clew/unwind"
)

// TestBehindCallWithoutReturn: a frame that waits in a call which does not return
// has the state before the call, not that of the instruction at the return address,
// to which other paths lead.
func TestBehindCallWithoutReturn(t *testing.T) {
	// test edi, edi; je end; push rax; call panic; end: ret
	code := []byte{0x85, 0xff, 0x74, 0x06, 0x50, 0xe8, 0, 0x10, 0, 0, 0xc3}
	const pushed, end = 5, 10
	image := made([]uint32{4 << 24, 2<<24 | 1<<16}, code)
	b := cfitest.Builder{Addr: madeBase + 0x9000}
	// DW_CFA_def_cfa rsp+8; rip at CFA-8; DW_CFA_advance_loc 5, DW_CFA_def_cfa_offset 16
	cie := b.CIE(cfitest.CIE{RA: 16, Code: []byte{0x0c, 7, 8, 0x80 | 16, 1}})
	b.FDE(cie, b.Quad(0x1000), b.Quad(functionSize), []byte{0x40 | pushed, 0x0e, 16})
	image.Sections = append(image.Sections, unwind.Section{Name: sectionEH, Addr: b.Addr, Data: b.Bytes()},
		unwind.Section{Name: commandStarts, Data: []byte{0x80, 0x20, functionSize, 0}})
	opened, problems := open(unwind.AMD64, &image)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	const function = madeBase + 0x1000
	for _, c := range []struct {
		at   uint64
		kind unwind.PCKind
		want string
	}{
		{function + end - 1, unwind.KindReturn, "cfa=rsp+16; ra=[cfa-8]; fp=unchanged"}, // looked up one byte before
		{function + end, unwind.KindInstruction, "cfa=rsp+8; ra=[cfa-8]; fp=unchanged"},
		{function + pushed, unwind.KindInstruction, "cfa=rsp+16; ra=[cfa-8]; fp=unchanged"},
		{function + 2, unwind.KindInstruction, "cfa=rsp+8; ra=[cfa-8]; fp=unchanged"},
	} {
		rule, err := opened.Rule(c.at, c.kind)
		if err != nil || rule == nil || rule.String() != c.want || rule.Doubt != "" {
			t.Errorf("at %#x (%v): %+v, %v; want %s", c.at-function, c.kind, rule, err, c.want)
		}
	}
}
