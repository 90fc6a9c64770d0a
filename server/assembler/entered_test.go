package assembler

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/clewdbg/clew/unwind"
	"github.com/clewdbg/clew/unwind/stackasm"
)

// entering is code in which main.call has called Go's assembly at entryPC.
type entering struct{ code }

const (
	entryPC    = 0x506000
	preamblePC = 0x40a018 // behind a call, in generated code
)

func (c entering) Bytes(addr uint64, n int) []byte {
	if addr == goCallPC-5 {
		call := binary.LittleEndian.AppendUint32([]byte{0xe8}, uint32(entryPC-goCallPC))
		return call[:min(n, len(call))]
	}
	return c.code.Bytes(addr, n)
}

// preamble is generated code as wazero has it.
var preamble = []byte{
	0x41, 0xff, 0xd6, // call *%r14
	0x41, 0x89, 0x04, 0x24, // mov %eax,(%r12)
	0x48, 0x8b, 0x6a, 0x10, // mov 16(%rdx),%rbp
	0x48, 0x8b, 0x62, 0x18, 0xc3, // mov 24(%rdx),%rsp; ret
}

// TestEntered: generated code is left to the call of Go's assembly that was given the
// structure which the code needs: a callee has saved its address. Older calls, of which the
// words are still on the goroutine's stack, do not count, and nothing is made up.
func TestEntered(t *testing.T) {
	own := stackasm.New(unwind.AMD64, 0x5000_0000)
	own.Pad(64).Mark("low").Pad(32).Mark("saved").Word(0).Pad(24).Mark("top").Pad(64)
	goroutine := stackasm.New(unwind.AMD64, 0x6000_0000)
	goroutine.Pad(64).Mark("old").Word(goCallPC, 1, 0x5200_0000).Pad(64)
	goroutine.Mark("now").Word(goCallPC, 1, 2, 0x5100_0000).Word(exitPC).Mark("fp").Pad(64)
	om, err := own.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	gm, err := goroutine.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	structure := func(base uint64, call string) unwind.Window {
		w := unwind.Window{Addr: base, Data: make([]byte, 64)}
		binary.LittleEndian.PutUint64(w.Data[16:], gm.Addr("fp"))
		binary.LittleEndian.PutUint64(w.Data[24:], gm.Addr(call))
		return w
	}
	page := unwind.Window{Addr: preamblePC &^ 0xfff, Data: make([]byte, 0x1000)}
	copy(page.Data[preamblePC-page.Addr-3:], preamble)
	known := code{entryPC: {Name: "entry", Exact: true, Go: true, Asm: true}}
	for start, fn := range synthetic {
		known[start] = fn
	}
	f := &fake{name: "f", steps: map[uint64][]unwind.Step{leafPC: {step(om.Addr("top"), preamblePC, 0)}}}
	for name, c := range map[string]struct {
		saved []uint64 // at "saved" and behind
		want  []uint64
		why   string
	}{
		"saved":        {[]uint64{0x5100_0000}, []uint64{leafPC, preamblePC, goCallPC, exitPC}, ""},
		"not saved":    {nil, []uint64{leafPC, preamblePC}, "0 calls there may have led here"},
		"not the only": {[]uint64{0x5200_0000, 0x5100_0000}, []uint64{leafPC, preamblePC}, "2 calls there may have led here"},
	} {
		stack := unwind.Window{Addr: om.Base, Data: append([]byte(nil), om.Data...)}
		for i, v := range c.saved {
			binary.LittleEndian.PutUint64(stack.Data[int(om.Addr("saved")-om.Base)+8*i:], v)
		}
		tg := target(unwind.Windows{stack, gm.Windows()[0], structure(0x5100_0000, "now"), structure(0x5200_0000, "old"), page})
		tg.Code = entering{known}
		s := with(f).Stack(context.Background(), tg, thread(leafPC, om.Addr("low"), 0, om.Segment(unwind.SegmentSignal), gm.Segment(unwind.SegmentGoroutine)), Options{})
		equal(t, name, pcs(s), c.want)
		if ended := s.Stop == unwind.End; ended != (c.why == "") || !strings.Contains(s.Reason, c.why) {
			t.Errorf("%s: %v %q", name, s.Stop, s.Reason)
		}
		for _, frame := range s.Frames[min(2, len(s.Frames)):] {
			if frame.Trust != unwind.TrustCFI {
				t.Errorf("%s: %+v", name, frame)
			}
		}
	}
	if _, ok := readWayOut([]byte{0x48, 0x8b, 0x6a, 0x10, 0xc3, 0, 0, 0}); ok {
		t.Error("a way out without a stack pointer")
	}
}
