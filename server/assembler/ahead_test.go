package assembler

import (
	"context"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// TestAhead: code of which nothing tells where it begins is followed to its return. Behind a call that may not come back
// the call before the return address has to lead there. What a frame pointer says otherwise is refused.
func TestAhead(t *testing.T) {
	const start = 0x40b000
	sized := []byte{0x90, 0x4c, 0x8b, 0x5c, 0x24, 0x10, 0x4c, 0x01, 0xdc, 0xc3} // nop; mov 16(%rsp),%r11; add %r11,%rsp; ret
	calls := []byte{0x90, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x40, 0xc3}             // nop; call *%rax; add $64,%rsp; ret
	m, err := stackasm.New(unwind.AMD64, sp0).Pad(16).Word(64).Pad(40).Word(midPC).Pad(64).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		code    []byte
		called  uint64 // by the call before the return address, 0: what a register says
		chain   []unwind.Step
		want    []uint64
		by      string
		refused int
	}{
		"a size in the frame":            {sized, 0, nil, []uint64{start, midPC}, unwind.StrategyCode, 0},
		"a frame pointer that skips":     {sized, 0, []unwind.Step{step(sp0+96, outerPC, 0)}, []uint64{start, midPC}, unwind.StrategyCode, 1},
		"a frame pointer that agrees":    {sized, 0, []unwind.Step{step(sp0+72, midPC, 0)}, []uint64{start, midPC}, "f", 0},
		"a call that may not come back":  {calls, 0, nil, []uint64{start}, "", 0},
		"the same, and a call led there": {calls, start, nil, []uint64{start, midPC}, unwind.StrategyCode, 0},
		"no return":                      {[]byte{0x90, 0xff, 0xe0}, 0, nil, []uint64{start}, "", 0},
	} {
		f := &fake{name: "f", steps: map[uint64][]unwind.Step{start: c.chain}}
		tg := target(memories(m))
		tg.Code = written{calling{synthetic, map[uint64]uint64{midPC: c.called, outerPC: 0}}, start, c.code}
		s := with(f).Stack(context.Background(), tg, thread(start, sp0, sp0+80, cStack), Options{MaxFrames: 2})
		equal(t, name, pcs(s), c.want)
		if len(s.Frames) > 1 && (s.Frames[1].Strategy != c.by || s.Frames[1].Trust <= unwind.TrustScan || len(s.Frames[0].Rejected) != c.refused) {
			t.Errorf("%s: by %s, %v, %v", name, s.Frames[1].Strategy, s.Frames[1].Trust, s.Frames[0].Rejected)
		}
	}
}

// written is code with own bytes at a place.
type written struct {
	CodeMap
	start uint64
	bytes []byte
}

func (w written) Bytes(addr uint64, n int) []byte {
	out := w.CodeMap.Bytes(addr, n)
	for i := range out {
		if at := addr + uint64(i) - w.start; at < uint64(len(w.bytes)) {
			out[i] = w.bytes[at]
		}
	}
	return out
}

// TestAheadAgainstTables: a table's step is refused where the code in front proves another caller: at a return, at a
// function's entry, in what takes the frame down. What is behind a call that may not come back proves nothing, and a
// call has to speak for the code if one speaks for the table.
func TestAheadAgainstTables(t *testing.T) {
	const start = 0x401000
	m, err := stackasm.New(unwind.AMD64, sp0).Word(midPC).Pad(24).Word(outerPC).Pad(64).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	words, err := stackasm.New(unwind.AMD64, sp0).Word(0x600000).Pad(24).Word(outerPC).Pad(64).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		at   uint64
		code []byte // from there on
		want uint64
	}{
		"a return":                       {start + 32, []byte{0xc3}, midPC},
		"an entry that no call leads to": {start, []byte{0x90, 0xff, 0xe0}, outerPC}, // the dynamic linker's, behind two words
		"an entry":                       {start, []byte{0xff, 0xe0}, midPC},
		"inside of the function":         {start + 32, []byte{0xff, 0xe0}, outerPC},
		"an epilogue":                    {start + 32, []byte{0x48, 0x83, 0xc4, 0x20, 0xc3}, outerPC}, // add $32,%rsp; ret
		"a call that may not come back":  {start + 32, []byte{0xff, 0xd0, 0xc3}, outerPC},
		"behind one, another's epilogue": {start + 32, []byte{0x74, 1, 0xc3, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x20, 0xc3}, midPC},
	} {
		table := &fake{name: "table", steps: map[uint64][]unwind.Step{c.at: {trusted(step(sp0+40, outerPC, 0), unwind.TrustCFI)}}}
		a := with(table)
		a.Strategies[0].Description.Trust = unwind.TrustCFI
		tg := target(memories(m))
		if strings.Contains(name, "no call") {
			tg.Memory = memories(words)
		}
		tg.Code = written{calling{synthetic, map[uint64]uint64{midPC: 0, outerPC: 0}}, c.at, c.code}
		s := a.Stack(context.Background(), tg, thread(c.at, sp0, 0, cStack), Options{MaxFrames: 2})
		if len(s.Frames) != 2 || s.Frames[1].PC.Raw() != c.want || (len(s.Frames[0].Rejected) > 0) != (c.want == midPC) {
			t.Errorf("%s: %#x, %v", name, pcs(s), s.Frames[0].Rejected)
		}
	}
}

// TestNearerCaller: where no code confirms a table's step, and a nearer word is a return address behind a call that leads
// here for certain, the step has the trust of a scan, and the stack no end.
func TestNearerCaller(t *testing.T) {
	const exit = "runtime.goexit"
	m, err := stackasm.New(unwind.AMD64, sp0).Pad(8).Word(midPC).Pad(16).Word(outerPC).Pad(64).Assemble()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		nearer, farther uint64 // what the calls before the two call
		code            []byte
		doubted         bool
	}{
		"a nearer caller":        {0x401000, 0, []byte{0xff, 0xe0}, true},
		"both calls lead here":   {0x401000, 0x401000, []byte{0xff, 0xe0}, true},
		"an indirect call":       {0, 0, []byte{0xff, 0xe0}, false},
		"the call of another":    {0x402000, 0, []byte{0xff, 0xe0}, false},
		"the code confirms it":   {0x401000, 0, []byte{0x48, 0x83, 0xc4, 0x20, 0xc3}, false}, // add $32,%rsp; ret
		"the code says another":  {0, 0, []byte{0xff, 0xd0, 0x58, 0xc3}, true},               // call *%rax; pop; ret
		"the same, and one call": {0, 0x401000, []byte{0xff, 0xd0, 0x58, 0xc3}, false},
	} {
		table := &fake{name: "table", steps: map[uint64][]unwind.Step{
			leafPC: {trusted(step(sp0+40, outerPC, 0), unwind.TrustCFI)}, outerPC: {trusted(step(sp0+64, exitPC, 0), unwind.TrustCFI)},
		}}
		a := with(table)
		a.Strategies[0].Description.Trust = unwind.TrustCFI
		tg := target(memories(m))
		tg.Code = written{calling{synthetic, map[uint64]uint64{midPC: c.nearer, outerPC: c.farther, exitPC: 0x403000}}, leafPC, c.code}
		s := a.Stack(context.Background(), tg, thread(leafPC, sp0, 0, cStack), Options{})
		equal(t, name, pcs(s), []uint64{leafPC, outerPC, exitPC})
		if doubted := s.Frames[1].Trust == unwind.TrustScan; doubted != c.doubted || (s.Stop == unwind.End && s.Reason == exit) == c.doubted {
			t.Errorf("%s: %v, %s: %s", name, trusts(s), s.Stop, s.Reason)
		}
	}
}
