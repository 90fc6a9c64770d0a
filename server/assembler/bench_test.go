package assembler

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/clewdbg/clew/internal/unwind/codemodel"
	"github.com/clewdbg/clew/unwind"
)

const (
	benchFrames = 4000
	benchBase   = 0x7100_0000
)

// benchCode has two functions: C at 0x600000, Go at 0x700000.
type benchCode struct{ c, g []byte }

func (b *benchCode) Function(at unwind.LookupAddr) (Function, bool) {
	switch {
	case at >= 0x600000 && at < 0x600000+unwind.LookupAddr(len(b.c)):
		return Function{Name: "recurse", Start: 0x600000, End: 0x600000 + uint64(len(b.c)), Exact: true}, true
	case at >= 0x700000 && at < 0x700000+unwind.LookupAddr(len(b.g)):
		return Function{Name: "main.recurse", Start: 0x700000, End: 0x700000 + uint64(len(b.g)), Exact: true, Go: true, SPDelta: 24, HasSPDelta: true}, true
	}
	return Function{}, false
}

func (b *benchCode) Bytes(addr uint64, n int) []byte {
	for start, code := range map[uint64][]byte{0x600000: b.c, 0x700000: b.g} {
		if addr >= start && addr < start+uint64(len(code)) {
			code = code[addr-start:]
			return code[:min(n, len(code))]
		}
	}
	return nil
}

func (b *benchCode) Complete(unwind.LookupAddr) bool { return true }

func (b *benchCode) Model(unwind.LookupAddr) (*codemodel.Image, uint64) { return nil, 0 }

func benchProgram() (*Target, *unwind.Windows) {
	// push %rbp; mov %rsp,%rbp; sub $16,%rsp; call .-13; leave; ret, then nops
	c := append([]byte{0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0xe8, 0, 0, 0, 0, 0xc9, 0xc3}, make([]byte, 17)...)
	d := int32(-13)
	binary.LittleEndian.PutUint32(c[9:], uint32(d))
	g := append([]byte(nil), c...)
	stack := make([]byte, 32*(benchFrames+8))
	w := unwind.Windows{{Addr: benchBase, Data: stack}}
	return &Target{Arch: unwind.AMD64, OS: "linux", Memory: w, Code: &benchCode{c, g},
		Executable: unwind.NewRangeSet(unwind.Range{Start: 0x600000, End: 0x710000})}, &w
}

// fill lays out frames of 32 bytes, each with a record.
func fill(w unwind.Windows, ra uint64) {
	for i := range benchFrames + 4 {
		fp := benchBase + 16 + 32*uint64(i)
		binary.LittleEndian.PutUint64(w[0].Data[fp-benchBase:], fp+32)
		binary.LittleEndian.PutUint64(w[0].Data[fp-benchBase+8:], ra)
	}
}

var benchStack = unwind.Segment{Low: benchBase, High: benchBase + 32*(benchFrames+8), Kind: unwind.SegmentThread}

// run answers with all steps that a request wants.
type run struct {
	fake
	ra    uint64
	trust unwind.Trust
	steps []unwind.Step
}

func (r *run) Walk(_ context.Context, reqs []unwind.WalkRequest) ([]unwind.WalkResult, error) {
	sp, _ := reqs[0].Registers.SP(unwind.AMD64)
	r.steps = r.steps[:0]
	for cfa := sp + 32; len(r.steps) < reqs[0].MaxFrames && cfa < benchBase+32*benchFrames; cfa += 32 {
		s := step(cfa, r.ra, cfa+16)
		s.Trust = r.trust
		r.steps = append(r.steps, s)
	}
	res := unwind.WalkResult{Steps: r.steps, Stop: unwind.StopLimit}
	if len(r.steps) == 0 {
		res.Stop = unwind.StopNoRule
	}
	return []unwind.WalkResult{res}, nil
}

func benchWalk(b *testing.B, pc, ra uint64, trust unwind.Trust, least int) {
	tg, w := benchProgram()
	fill(*w, ra)
	r := &run{ra: ra, trust: trust}
	a := &Assembler{Strategies: []Strategy{{Description: unwind.Description{Name: "r", Arches: []unwind.Arch{unwind.AMD64}, Anywhere: true, Trust: trust}, Unwinder: r}}}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		s := a.Stack(context.Background(), tg, thread(pc, benchBase, benchBase+16, benchStack), Options{})
		if len(s.Frames) < least {
			b.Fatal(len(s.Frames), s.Reason, s.Frames[len(s.Frames)-1].Rejected)
		}
	}
}

func BenchmarkTables(b *testing.B) { benchWalk(b, 0x60000d, 0x60000d, unwind.TrustCFI, benchFrames-9) }
func BenchmarkFramePointer(b *testing.B) {
	benchWalk(b, 0x60000d, 0x60000d, unwind.TrustFramePointer, benchFrames-9)
}
func BenchmarkGo(b *testing.B)   { benchWalk(b, 0x70000d, 0x70000d, unwind.TrustCFI, benchFrames-9) }
func BenchmarkScan(b *testing.B) { benchWalk(b, 0x60000d, 0x60000d, unwind.TrustScan, 8) }
