package memory

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/clewdbg/clew/integration/internal/inprocess"
	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/server/assembler"
	"github.com/clewdbg/clew/server/engine"
	"github.com/clewdbg/clew/unwind"
)

// Where the fuzzer's program lies.
const (
	fuzzCode   = 0x40_0000
	fuzzTable  = 0x50_0000
	fuzzStack  = 0x7ffd_0000_0000
	fuzzGo     = 0xc0_0000_0000
	fuzzFunc   = 64 // bytes of a function
	mostCode   = 1 << 12
	mostStack  = 1 << 13
	mostFrames = 4096
)

// fuzzNames are what functions may be called: those that the assembler knows by
// name, and others.
var fuzzNames = []string{"f", "main.f", "runtime.asmcgocall", "runtime.cgocallback", "runtime.systemstack", "runtime.mcall", "runtime.morestack",
	"gogo", "runtime.goexit", "runtime.sigpanic", "crosscall2", "runtime.cgocallbackg", "_dl_runtime_resolve", "__start_context", "clone", "runtime.mstart"}

// fuzzMap is code whose functions are made up of its own bytes.
type fuzzMap []byte

func (m fuzzMap) Function(at unwind.LookupAddr) (assembler.Function, bool) {
	off := uint64(at) - fuzzCode
	if uint64(at) < fuzzCode || off >= uint64(len(m)) {
		return assembler.Function{}, false
	}
	start := off / fuzzFunc * fuzzFunc
	b := m[start]
	fn := assembler.Function{Name: fuzzNames[b&15], Start: fuzzCode + start, End: fuzzCode + start + fuzzFunc, Exact: b&16 != 0,
		Go: b&32 != 0, Asm: b&64 != 0, Outermost: b&0x8f == 0x88}
	if fn.Go {
		fn.HasSPDelta, fn.SPDelta = b&128 == 0, int64(int8(m[off]))*8
	}
	return fn, b != 0xff
}

func (m fuzzMap) Bytes(addr uint64, n int) []byte {
	if addr < fuzzCode || addr-fuzzCode >= uint64(len(m)) || n < 0 {
		return nil
	}
	code := m[addr-fuzzCode:]
	return code[:min(n, len(code))]
}

// Complete implements [assembler.CodeMap].
func (m fuzzMap) Complete(at unwind.LookupAddr) bool { return uint64(at)&fuzzFunc != 0 }

// Model implements [assembler.CodeMap].
func (m fuzzMap) Model(unwind.LookupAddr) (*codemodel.Image, uint64) { return nil, 0 }

// FuzzStack assembles stacks of random tables, code, memory and registers with
// every strategy. Whatever they hold, the walk ends, SP rises within each stack,
// no frame comes twice, and a stack that is cut short says why.
func FuzzStack(f *testing.F) {
	word := func(words ...uint64) (b []byte) {
		for _, w := range words {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		return b
	}
	code := make([]byte, 8*fuzzFunc)
	for i := range 8 {
		copy(code[i*fuzzFunc:], []byte{byte(i) * 17, 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd0, 0x5d, 0xc3})
	}
	f.Add([]byte{}, code, word(fuzzStack+16, fuzzCode+7, fuzzStack+32, fuzzCode+fuzzFunc+7, 0, 0), word(fuzzGo+16, fuzzCode+7), uint64(fuzzCode+5), uint64(fuzzStack), uint64(fuzzStack), uint8(0))
	f.Add([]byte{20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 4, 0x0c, 7, 8, 0x90, 1, 0, 0,
		28, 0, 0, 0, 28, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0x0e, 16, 0, 0, 0, 0, 0},
		code, word(1, fuzzCode+7, 2, fuzzCode+fuzzFunc+7), word(3, fuzzCode+7), uint64(fuzzCode+5), uint64(fuzzStack), uint64(fuzzGo), uint8(1))
	f.Fuzz(func(t *testing.T, table, code, stack, goroutine []byte, pc, sp, fp uint64, flags uint8) {
		if len(table) > 1<<12 || len(code) > mostCode || len(stack) > mostStack || len(goroutine) > mostStack {
			return
		}
		arch := []unwind.Arch{unwind.AMD64, unwind.ARM64}[flags&1]
		in := engine.Input{
			Target: assembler.Target{
				Arch: arch, OS: "linux", Code: fuzzMap(code),
				Memory: unwind.Windows{{Addr: fuzzStack, Data: stack}, {Addr: fuzzGo, Data: goroutine}, {Addr: fuzzCode, Data: code}},
			},
			Images: []unwind.Image{{Path: "/fuzz", Executable: []unwind.Range{{Start: fuzzCode, End: fuzzCode + mostCode}}}},
			Section: func(_ int, name string) (unwind.Section, bool) {
				return unwind.Section{Name: name, Addr: fuzzTable, Data: table}, name == ".eh_frame" || name == ".sframe" && flags&2 != 0
			},
		}
		if flags&4 == 0 {
			in.Target.Executable = unwind.NewRangeSet(in.Images[0].Executable...)
			in.Target.Writable = unwind.NewRangeSet(unwind.Range{Start: fuzzStack, End: fuzzStack + mostStack})
		}
		th := unwind.Thread{ID: 1, Goroutine: uint64(flags >> 3 & 1), FirstPC: unwind.PCKind(flags >> 4 & 1)}
		for reg := range unwind.Register(33) {
			th.Registers.Set(reg, fp+uint64(reg)*8)
		}
		th.Registers.Set(arch.FP(), fp)
		th.Registers.Set(arch.SP(), sp)
		th.Registers.Set(arch.PC(), pc)
		if flags&32 == 0 {
			th.Segments = []unwind.Segment{{Low: fuzzStack, High: fuzzStack + uint64(len(stack)), Kind: unwind.SegmentG0},
				{Low: fuzzGo, High: fuzzGo + uint64(len(goroutine)), Kind: unwind.SegmentGoroutine}}
		}
		if flags&64 != 0 {
			th.Saved = &unwind.Saved{G: fp, Registers: th.Registers}
			th.Saved.Registers.Set(arch.SP(), fuzzGo)
		}
		ready := engine.New(inprocess.Strategies()).Prepare(context.Background(), &in)
		opts := assembler.Options{MaxFrames: mostFrames, AllRegisters: flags&128 != 0}
		checkStack(t, &in.Target, ready.Stack(context.Background(), &th, opts))
	})
}

func checkStack(t *testing.T, target *assembler.Target, s unwind.Stack) {
	t.Helper()
	type place struct {
		pc, sp  uint64
		segment int
	}
	arch := target.Arch
	seen := make(map[place]bool)
	reached := make(map[int]uint64)
	for i := range s.Frames {
		fr := &s.Frames[i]
		now, ok := fr.Registers.SP(arch)
		at := place{fr.PC.Raw(), now, fr.Segment}
		switch {
		case i > 0 && (!ok || fr.Trust == unwind.TrustNone || fr.Strategy == ""):
			t.Fatalf("frame %d: %+v", i, fr)
		case seen[at]:
			t.Fatalf("frame %d comes twice: %+v", i, at)
		case i > 1 && now < reached[fr.Segment]:
			t.Fatalf("frame %d: SP %#x below %#x", i, now, reached[fr.Segment])
		case i > 0 && fr.PC.Kind() == unwind.KindReturn && target.Executable != nil && !target.Executable.Contains(uint64(fr.PC.Lookup(arch))):
			t.Fatalf("frame %d: %#x is no code", i, fr.PC.Raw())
		}
		seen[at] = true
		reached[fr.Segment] = now
	}
	if s.Reason == "" || len(s.Frames) > mostFrames || s.DepthLimited != (len(s.Frames) == mostFrames && s.Stop == unwind.Truncated) {
		t.Fatalf("%d frames, %v %q, limited %v", len(s.Frames), s.Stop, s.Reason, s.DepthLimited)
	}
}
