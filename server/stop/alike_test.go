package stop

import (
	"encoding/binary"
	"errors"
	"reflect"
	"testing"

	"github.com/clewdbg/clew/server/delve/reading"
	"github.com/clewdbg/clew/unwind"
)

// words is memory of words, by address.
type words map[uint64]uint64

func (w words) ReadMemory(addr uint64, p []byte) error {
	for i := 0; i < len(p); i += 8 {
		v, ok := w[addr+uint64(i)]
		if !ok {
			return errors.New("unmapped")
		}
		binary.LittleEndian.PutUint64(p[i:], v)
	}
	return nil
}

const returnTo = 0x401234

// put writes a stack of six words at sp, which returns to an address.
func (w words) put(sp, to, fp uint64) {
	for i := range uint64(6) {
		w[sp+8*i] = 0x11 * i
	}
	w[sp+16], w[sp+24] = fp, to
}

func parkedAt(id, sp uint64) (th reading.Thread) {
	th.Goroutine, th.FirstPC = id, unwind.KindReturn
	th.Registers.Set(unwind.AMD64.PC(), 0x400100)
	th.Registers.Set(unwind.AMD64.SP(), sp)
	th.Registers.Set(unwind.AMD64.FP(), sp+100)
	th.Segments = []unwind.Segment{{Low: sp - 64, High: sp + 48, Kind: unwind.SegmentGoroutine}}
	return th
}

// walked is the stack of parkedAt as the assembler finds it.
func walked(th *reading.Thread, sp, fp uint64) unwind.Stack {
	s := unwind.Stack{Goroutine: th.Goroutine, Stop: unwind.End, Frames: []unwind.Frame{
		{PC: unwind.Code(0x400100, unwind.KindReturn), CFA: sp + 32, Rule: "cfa=rsp+32; ra=[cfa-8]; fp=[cfa-16]", Strategy: unwind.StrategyRegisters, Trust: unwind.TrustContext, Registers: th.Registers},
		{PC: unwind.Code(returnTo, unwind.KindReturn), Strategy: unwind.StrategyGopclntab, Trust: unwind.TrustCFI, Function: "runtime.goexit"},
	}}
	r := &s.Frames[1].Registers
	r.Set(unwind.AMD64.PC(), returnTo)
	r.Set(unwind.AMD64.SP(), sp+32)
	r.Set(unwind.AMD64.FP(), fp)
	return s
}

// TestAlike: a stack with the same return addresses at the same places is that of the
// first, moved; any other is walked.
func TestAlike(t *testing.T) {
	const first, second, other, deeper = 0x1000, 0x5000, 0x9000, 0xd000
	w := words{}
	w.put(first, returnTo, 7)
	w.put(second, returnTo, 9)
	w.put(other, returnTo+4, 7)
	w.put(deeper, returnTo, 7)
	w[deeper+48] = 0
	a := &alike{arch: unwind.AMD64, memory: w, kept: make(map[uint64][]*model)}
	th := parkedAt(5, first)
	stack := walked(&th, first, 7)
	a.keep(&th, &stack)
	th = parkedAt(6, second)
	want := walked(&th, second, 9)
	if got, ok := a.find(&th, false); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%v: %+v\nwant %+v", ok, got, want)
	}
	if got, ok := a.find(&th, true); !ok || got.Goroutine != 6 || &got.Frames[0] != &stack.Frames[0] {
		t.Errorf("%v: %+v", ok, got)
	}
	th = parkedAt(7, other)
	if _, ok := a.find(&th, false); ok {
		t.Error("another return address")
	}
	th = parkedAt(8, deeper)
	th.Segments[0].High += 8
	if _, ok := a.find(&th, false); ok {
		t.Error("another distance to the top")
	}
	// What this way of moving does not make again is not kept.
	b := &alike{arch: unwind.AMD64, memory: w, kept: make(map[uint64][]*model)}
	th = parkedAt(5, first)
	for what, change := range map[string]func(*unwind.Stack){
		"a frame pointer from elsewhere": func(s *unwind.Stack) { s.Frames[1].Registers.Set(unwind.AMD64.FP(), 8) },
		"a guess":                        func(s *unwind.Stack) { s.Frames[1].Trust = unwind.TrustScan },
		"a truncated stack":              func(s *unwind.Stack) { s.Stop = unwind.Truncated },
	} {
		stack := walked(&th, first, 7)
		change(&stack)
		if b.keep(&th, &stack); len(b.kept) != 0 {
			t.Errorf("%s was kept", what)
		}
	}
}
